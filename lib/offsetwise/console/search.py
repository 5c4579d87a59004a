"""What the search box finds: pages, jobs, compared topics and partitions, findings, plans, and help."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice
from urllib.parse import urlencode

import streamlit as st

from offsetwise.console import answers, board, help
from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import search_box, selectors
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import plain
from offsetwise.console.widgets.search_box import SearchResult
from offsetwise.errors import OffsetwiseError
from offsetwise.findings import findings
from offsetwise.model import Comparison, Subject

MOST = 20
"""Results shown at once."""
PAGE, JOB, TOPIC, PARTITION, PLAN, FINDING, HELP = (
    "page",
    "job",
    "topic",
    "partition",
    "plan",
    "finding",
    "help",
)
Pages = Sequence[tuple[str, str]]
"""Title and path of each page."""


@st.fragment
def draw(pages: Pages) -> None:
    """Draw the search box. A fragment: typing redraws nothing else on the page."""
    with guard.block("search"):
        words = search_box.typed()
        among = links(pages, answers.current()) if words else ways(pages, answers.current().offered)
        results = matches(words, among)
        part = board.playing()
        if part is not None:
            for link in results:
                link["href"] += f"{'&' if '?' in link['href'] else '?'}{urlencode({board.PART: part.value})}"
        search_box.draw(words, results)


def matches(words: str, among: Iterator[SearchResult]) -> list[SearchResult]:
    """Return copies of the links that contain every word; those whose name begins with them come first.

    Without words, the first links.
    """
    query_words = words.lower().split()
    if not query_words:
        return [link.copy() for link in islice(among, MOST)]
    scored = ((_score(query_words, link), at, link) for at, link in enumerate(among))
    results = heapq.nsmallest(MOST, ((score, at, link) for score, at, link in scored if score is not None))
    return [link.copy() for _, _, link in results]


def _score(query_words: Sequence[str], link: SearchResult) -> int | None:
    """Return the rank of a match, 0 for the whole name; None if a word is missing."""
    title = link["title"].lower()
    if not all(word in title or word in f"{link['kind']} {link['detail']}".lower() for word in query_words):
        return None
    joined = " ".join(query_words)
    if title == joined:
        return 0
    if title.startswith(joined):
        return 1
    return 2 if joined in title else 3 if joined in f"{title} {link['detail']}".lower() else 4


def links(pages: Pages, answers: Answers) -> Iterator[SearchResult]:
    """Yield everything that can be found, the most likely first.

    Reads nothing from a cluster: partitions are those of comparisons in memory, and of the samples.
    """
    yield from ways(pages, answers.offered)
    yield from _plans()
    for migration in answers.offered:
        for subject in migration.subjects:
            yield from _partitions(answers, migration, subject)
    for code, kind in findings().items():
        yield _link(FINDING, code, "help", kind.title, about=help.FINDINGS, code=code)
    for title in help.topics():
        yield _link(HELP, title, "help", about=title)


def ways(pages: Pages, migrations: Sequence[Offered]) -> Iterator[SearchResult]:
    for title, path in pages:
        yield _link(PAGE, title, path)
    for migration in migrations:
        for subject in migration.subjects:
            yield _link(JOB, str(subject), "compare", migration.name, **migration.address(subject))


def _partitions(answers: Answers, migration: Offered, subject: Subject) -> Iterator[SearchResult]:
    try:
        result = answers.cached(Question.of(Reader.comparison, migration.name, subject))
    except OffsetwiseError:  # a recording that cannot be read: its page shows the error
        return
    if result is not None:
        yield from _rows(result, migration.name, str(subject))


@cached(64)
def _rows(snapshot: CachedAnswer[Comparison], migration: str, subject: str) -> tuple[SearchResult, ...]:
    address, detail = {"migration": migration, "of": subject}, f"{subject} · {migration}"
    rows = snapshot.value.partitions
    topics = dict.fromkeys(row.topic for row in rows)
    names = zip(selectors.row_names(rows, among=rows), rows, strict=True)
    return (
        *(_link(TOPIC, topic, "compare", detail, **address, topic=topic) for topic in topics),
        *(_link(PARTITION, name, "compare", detail, **address, topic=row.topic, row=name) for name, row in names),
    )


def _plans() -> Iterator[SearchResult]:
    try:
        current_board, person = board.board(), board.person()
        plans = () if current_board is None else current_board.plans(person)
    except OffsetwiseError:  # Review and Audit show what is wrong with the store
        return
    for row in plans:
        detail = f"{row.moves} · {row.migration} · {row.state}"
        yield _link(PLAN, f"Plan {row.id}", "review", detail, plan=str(row.id))


def _link(kind: str, title: str, path: str, detail: str = "", /, **query: str) -> SearchResult:
    href = f"{path}?{urlencode(query)}" if query else path or "."
    return SearchResult(kind=kind, title=plain(title), detail=plain(detail), href=href)
