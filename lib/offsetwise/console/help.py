"""The Help screen: the documents under `docs/`, the glossary and the codes, next to the pages that use them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.bundled import bundled_path
from offsetwise.console.widgets import blocks, escaping, table
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.errors import EXIT_CODES
from offsetwise.findings import FindingKind, findings
from offsetwise.model import Severity
from offsetwise.wording import verdicts

_WHAT: Final = """
Offsetwise answers one question for a streaming job whose Kafka cluster changes: **at which offset must each partition
resume, and how do we know?** It reads the job's checkpoint and both clusters, translates every position, and proves
the translation on the records themselves.

| page | question |
|---|---|
| Overview | What would go wrong if nobody acted? |
| Checkpoint | What does the job's checkpoint hold, and what would a restart read again? |
| Clusters | What does each cluster hold, and may this tool read it? |
| Compare | Where does each partition resume, why there, and what would the old number cost? |
| Lag | How far behind are job, group and mirror, over time? |
| Draft | How does the job move, and what is given up? |
| Review | Is the plan right, and does a second person agree to exactly that? |
| Export | How does the plan come to where it is applied? |
| Cutover | How far has each job come in this hour, what holds it up, and what comes next? |
| Fleet | Which of many checkpoints need a look? |
| Audit | Who did what, and is the record whole? |

The console only reads: no page writes to a cluster, a consumer group or a checkpoint, and nothing is read from a
cluster before somebody asks for it.

The bundled **sample migrations** were recorded from two real clusters each, that of streams on local servers, and open
on every page without any. For your own, `offsetwise init` writes a migration file from the addresses of both clusters
and the folder of the checkpoints (see *Files*), then:
"""
_CODES: Final[Columns[FindingKind]] = (
    Column("code", lambda kind: kind.code),
    Column("severity", lambda kind: verdicts.SEVERITY[kind.severity]),
    Column("meaning", lambda kind: kind.title),
)
_KEYBOARD: Final = """
| key | what it does |
|---|---|
| Tab, Shift + Tab | to the next control, or back |
| Enter, Space | press a button, open a list |
| ↑ ↓, then Enter | choose in an open list; typing narrows it |
| Backspace | takes the last choice out of a list that allows several |
| arrow keys | move through a table; Space marks its row |
| Ctrl + K, / | searches pages, jobs, partitions, findings, plans and help |
| Ctrl + F | searches in a table that has the focus |
| R | reads the page again; nothing is read from a cluster |

Filters and selections are in the address: copy it to show somebody what you see.
"""
FINDINGS: Final = "Findings"
_DOCS: Final = bundled_path("docs")
_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)\s]+)\)")
_PICTURE: Final = re.compile(r"!\[[^\]]*\]\([^)\s]+\)\n*")
_FENCE: Final = re.compile(r"^```[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^(#+) ", flags=re.MULTILINE)
_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a document: Markdown, or an example to copy."""

    text: str
    example: bool


def topics() -> tuple[str, ...]:
    return tuple(_TOPICS)


@lru_cache(maxsize=1)
def questions() -> Mapping[str, str]:
    """Return the question that each page answers, by the page's title.

    >>> questions()["Lag"]
    'How far behind are job, group and mirror, over time?'
    """
    return dict(re.findall(r"^\| ([A-Z]\w+) \| (.+) \|$", _WHAT, flags=re.MULTILINE))


def of_page(page: str) -> None:
    st.markdown(f"**{questions()[page]}**")
    topic, part = _PAGES.get(page, ("Start", None))
    if part is not None:
        _pieces(document(_DOCUMENTS[topic], part))
    st.page_link(
        Path("pages/help/help.py"), label=f"Help: {topic}", icon=":material/article:", query_params={"about": topic}
    )


def draw() -> None:
    if "code" in st.query_params and "about" not in st.query_params:
        st.session_state.setdefault("about", FINDINGS)
    with st.container(horizontal=True):
        about = st.selectbox("About", list(_TOPICS), key="about", bind="query-params", width=260)
        words = st.text_input("Search all of Help", key="words", bind="query-params", width=320)
    if words.strip():
        _results(words)
    else:
        _TOPICS[about]()


def _results(words: str) -> None:
    results = search(words)
    if not results:
        blocks.empty("No part of Help has all these words.", "Use fewer words, or other ones.")
    for title, line in results.items():
        query = {"about": title} | ({"find": words} if title == FINDINGS else {})
        st.page_link(Path("pages/help/help.py"), label=f"**{title}**", icon=":material/article:", query_params=query)
        st.markdown(f":gray[{escaping.markdown(line)}]")


def search(words: str) -> dict[str, str]:
    """Return the parts of Help that contain all the words, each with the first line that contains one of them.

    >>> list(search("space marks its row"))
    ['Keyboard']
    """
    requested = words.lower().split()
    results = {}
    for title, text in _texts().items():
        if requested and all(word in text.lower() for word in requested):
            lines = (_plain(line) for line in text.splitlines() if any(word in line.lower() for word in requested))
            results[title] = next(lines, title)
    return results


def _plain(line: str) -> str:
    return _LINK.sub(r"\1", line).replace("`", "").replace("*", "").strip(" |#-")


@lru_cache(maxsize=1)
def _texts() -> dict[str, str]:
    return {
        "Start": _WHAT,
        FINDINGS: "\n".join(f"{kind.code}: {kind.title} {kind.remedy}" for kind in findings().values()),
        **{title: "\n".join(part.text for part in document(name)) for title, name in _DOCUMENTS.items()},
        "Keyboard": _KEYBOARD,
        "Commands": "\n".join(f"{code}: {meaning}" for code, meaning in EXIT_CODES.items()),
    }


def _start() -> None:
    st.markdown(_WHAT)
    blocks.command("offsetwise console --migration migration.yaml")


def _findings() -> None:
    st.markdown(
        "A finding is one thing wrong or worth knowing, with a stable code. **blocks**: must not go on as it is. "
        "**warns**: a person should look. **informs**: good to know."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input("Search", key="find", bind="query-params", placeholder="code, meaning or remedy")
        severities = st.multiselect(
            "Severity",
            [severity.value for severity in Severity],
            key="severity",
            bind="query-params",
            placeholder="all",
        )
    kinds = [
        kind
        for kind in findings().values()
        if (not severities or kind.severity.value in severities) and _matches(kind, words)
    ]
    if kinds:
        table.show(_CODES, kinds, alt="Findings by code, the most serious first")
    else:
        blocks.empty("No finding has these words.", "Clear the search or the severity to see all of them.")
    code = st.selectbox("Explain", list(findings()), key="code", bind="query-params", width=420)
    _explained(findings()[code])


def _explained(kind: FindingKind) -> None:
    st.header(escaping.markdown(kind.code), anchor=False)
    verdict = verdicts.SEVERITY[kind.severity]
    st.markdown(f":{verdict.tone.colour}-badge[{verdict}]")
    st.markdown(f":gray[Decided {kind.stage}.]")
    _shown(f"findings/{kind.code}", beyond=f"*{kind.severity.value}* · ")


def _matches(kind: FindingKind, words: str) -> bool:
    text = f"{kind.code} {kind.title} {kind.remedy}".lower()
    return all(word in text for word in words.lower().split())


def _keyboard() -> None:
    st.markdown(_KEYBOARD)


def _commands() -> None:
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    st.markdown("The same verbs as commands: `offsetwise --help` lists them, `offsetwise COMMAND --help` explains one.")
    st.markdown(f"| exit code | meaning |\n|---|---|\n{rows}")


def _of(name: str) -> Callable[[], None]:
    return lambda: _shown(name)


def _shown(name: str, *, beyond: str = "") -> None:
    _pieces(document(name), beyond=beyond)


def _pieces(pieces: Sequence[Part], *, beyond: str = "") -> None:
    for part in pieces:
        if part.example:
            # Streamlit's highlight colours have too little contrast, and a scrolling line is out of the keyboard's
            # reach.
            st.code(part.text, language=None, wrap_lines=True)
        else:
            st.markdown(part.text.strip().removeprefix(beyond))


@lru_cache(maxsize=64)
def document(name: str, part: str | None = None) -> tuple[Part, ...]:
    """Return a document in pieces, without its title, with its headings one or two levels deeper to fit the page.

    Links to findings lead to this page; of links to other documents only the text stays, and pictures of the console
    are left out.

    Args:
        name: Name of the file without `.md`.
        part: Heading of the only part to return; empty for the text before the first heading; None for all.

    Raises:
        OSError: There is no such document.
    """
    text = (_DOCS / f"{name}.md").read_text(encoding="utf-8")
    body = text.split("\n", 1)[1] if text.startswith("# ") else text
    body = body if part is None else _cut(body, part)
    # The split alternates: prose, example, prose, …
    pieces = enumerate(_FENCE.split(body))
    deeper = r"\1# " if name.startswith("findings/") else r"\1 "
    parts = [Part(text=piece if at % 2 else _prose(piece, deeper), example=at % 2 == 1) for at, piece in pieces]
    return tuple(part for part in parts if part.text.strip())


def _cut(body: str, heading: str) -> str:
    lines: list[str] = []
    level, fenced = (0 if heading else _DEEPEST), False
    for line in body.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        match = None if fenced else re.match(r"(#+) (.*)", line)
        if level and match is not None and len(match[1]) <= level:
            break
        if level:
            lines.append(line)
        elif match is not None and match[2].strip() == heading:
            level = len(match[1])
    return "".join(lines)


def _prose(text: str, heading: str) -> str:
    return _LINK.sub(_linked, _HEADING.sub(heading, _PICTURE.sub("", text))).replace("$", r"\$")


def _linked(link: re.Match[str]) -> str:
    words, target = link.groups()
    code = Path(target.partition("#")[0]).stem
    return f"[{words}](help?code={code})" if code in findings() else words


_DOCUMENTS: Final = {
    "Words": "glossary",
    "How it proves": "how-it-proves",
    "Clusters and ACLs": "clusters",
    "Files": "formats",
    "Runbook": "runbook",
    "Plans": "plans",
    "Approving": "approving",
    "Many jobs": "many-jobs",
    "Automation": "automation",
    "Lag over time": "watch",
    "Cutover": "status",
    "Sign-in": "sign-in",
}
"""Documents by the titles of their parts of Help."""
_TOPICS: Final[Mapping[str, Callable[[], None]]] = {
    "Start": _start,
    FINDINGS: _findings,
    **{title: _of(name) for title, name in _DOCUMENTS.items()},
    "Keyboard": _keyboard,
    "Commands": _commands,
}
_PAGES: Final = {
    "Checkpoint": ("Runbook", "1. Look at the checkpoint"),
    "Clusters": ("Clusters and ACLs", "What the Clusters page says about the mirror and retention"),
    "Compare": ("How it proves", "Exactness"),
    "Lag": ("Lag over time", ""),
    "Draft": ("Approving", "Draft"),
    "Review": ("Approving", "Review"),
    "Export": ("Approving", "Export"),
    "Cutover": ("Cutover", "The Cutover page"),
    "Audit": ("Approving", "The audit log without the console"),
}
"""By page: the title of its document, and the part of it that is about the page."""
