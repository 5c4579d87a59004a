"""The pages of a stream with words of its own: labels name shards, streams and sequence numbers, over every sample."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from streamlit.testing.v1 import AppTest

from offsetwise.console.reader import Offered
from offsetwise.model import Subject
from offsetwise.ports.stream import terms_of
from offsetwise.review.access import Role
from offsetwise.wording.terms import in_words
from tests.console.conftest import OpenPage, words
from tests.console.test_every_sample import JOBS, READER, _board, frozen_of, page_of
from tests.screens import OF_ONE_MIGRATION
from tests.with_cases import with_cases

__all__ = ["_board"]

PAGES: Final = (*(f"explore/{name}" for name in OF_ONE_MIGRATION), "plan/draft")
KAFKAS: Final = re.compile(r"\b(topic|partition|offset)s?\b", re.IGNORECASE)


def labels(page: AppTest) -> Iterator[str]:
    """Yield what heads, labels and offers the parts of a page; no name stands in it."""
    for heading in (*page.header, *page.subheader):
        yield re.sub(r":gray\[.*\]", "", heading.value)
    choices = (*page.selectbox, *page.multiselect, *page.button, *page.text_input)
    for part in (*page.metric, *choices, *page.tabs, *page.expander):
        yield part.label
    for shown in page.dataframe:
        columns = json.loads(shown.proto.columns)
        yield from (columns.get(name, {}).get("label") or name for name in map(str, shown.value.columns))


def checks_named(page: AppTest) -> Iterator[str]:
    """Yield the names of the checks that the page writes out."""
    for part in page.markdown:
        yield from re.findall(r"badge\[[^\]]*\] \*\*(every [^*]*)\*\*", part.value)


@with_cases(("offered", "subject"), JOBS, ids=[f"{each.name} {of.name}" for each, of in JOBS])
def test_labels_are_in_the_words_of_the_stream(offered: Offered, subject: Subject) -> None:
    found = [
        (path, label) for path in PAGES for label in labels(page_of(path, offered, subject)) if KAFKAS.search(label)
    ]
    assert bool(found) != bool(offered.terms), found


def test_overview_speaks_of_each_sample_in_its_own_words(open_page: OpenPage) -> None:
    shown = words(open_page(READER, "pages/explore/overview.py"))
    assert "known for 3 of 3 shards" in shown
    assert "5 of 8 partitions would go wrong" in shown


@with_cases(("offered", "subject"), JOBS, ids=[f"{each.name} {of.name}" for each, of in JOBS])
def test_a_plan_is_reviewed_and_exported_in_the_words_of_the_stream(offered: Offered, subject: Subject) -> None:
    page = page_of("plan/draft", offered, subject, play=Role.AUTHOR.value)
    page.button(key="submit").click().run()
    assert not page.exception
    page = page_of("plan/review", offered, subject, play=Role.REVIEWER.value, plan="1")
    reviewed = [label for label in (*labels(page), *checks_named(page)) if KAFKAS.search(label)]
    assert bool(reviewed) != bool(offered.terms), reviewed
    for field in page.text_input:
        if field.label.startswith(("Type ", "Approve in spite of")):
            field.set_value(subject.name if field.label.startswith("Type ") else "It was looked at by both of us.")
    page.run()
    page.button(key="approve-1").click().run()
    assert not page.exception
    page = page_of("plan/export", offered, subject, play=Role.REVIEWER.value, plan="1")
    assert page.download_button
    assert any(" → " in each.value and " change" in each.value for each in page.markdown), "the numbers stand there"
    exported = [label for label in labels(page) if KAFKAS.search(label)]
    assert not exported or not offered.terms, exported


@with_cases(("offered", "subject"), JOBS, ids=[f"{each.name} {of.name}" for each, of in JOBS])
def test_positions_say_in_which_words_a_plan_about_them_is_shown(offered: Offered, subject: Subject) -> None:
    page_of("explore/compare", offered, subject)
    assert terms_of(frozen_of(offered, subject).comparison.partitions) == offered.terms
    assert terms_of([]) == {}


@with_cases(
    ("label", "said"),
    [
        ("Topics CSV", "Streams CSV"),
        ("old offset", "old sequence number"),
        ("3 partitions, each partition on its own", "3 shards, each shard on its own"),
        ("Offsets", "Sequence numbers"),
        ("An offset, a partition", "A sequence number, a shard"),
        ("repartition, topical, offsetting", "repartition, topical, offsetting"),
    ],
)
def test_words_are_replaced_whole_with_plural_and_capital(label: str, said: str) -> None:
    assert in_words(label, {"topic": "stream", "partition": "shard", "offset": "sequence number"}) == said
