"""Draws the Help screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console import blocks, escaping, table
from offsetwise.console.help.documents import document
from offsetwise.exit_codes import EXIT_CODES
from offsetwise.findings.codes import KINDS, FindingKind, Stage
from offsetwise.model import Severity

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
| Fleet | Which of many checkpoints need a look? |
| Audit | Who did what, and is the record whole? |

The console only reads: no page writes to a cluster, a consumer group or a checkpoint, and nothing is read from a
cluster before somebody asks for it.

The bundled **sample migrations** were recorded from two real clusters each and open on every page without any. For
your own, describe both clusters and the checkpoints in a migration file (see *Files*), then:
"""

_KEYBOARD: Final = """
| key | what it does |
|---|---|
| Tab, Shift + Tab | to the next control, or back |
| Enter, Space | press a button, open a list |
| ↑ ↓, then Enter | choose in an open list; typing narrows it |
| Backspace | takes the last choice out of a list that allows several |
| arrow keys | move through a table; Space marks its row |
| Ctrl + F | searches in a table that has the focus |
| R | reads the page again; nothing is read from a cluster |

Filters and selections stand in the address: copy it to show somebody what you see.
"""

_SEVERITIES: Final = {
    Severity.BLOCKS: ":red-badge[:material/block: blocks]",
    Severity.WARNS: ":orange-badge[:material/warning: warns]",
    Severity.INFORMS: ":gray-badge[:material/info: informs]",
}
_FINDINGS: Final = "Findings"


def draw() -> None:
    """Draw the whole screen. A link that names a code opens it."""
    if "code" in st.query_params and "about" not in st.query_params:
        st.session_state.setdefault("about", _FINDINGS)
    _TOPICS[st.radio("About", list(_TOPICS), key="about", bind="query-params", horizontal=True)]()


def _start() -> None:
    st.markdown(_WHAT)
    st.code("offsetwise console --migration migration.yaml", language=None, wrap_lines=True)


def _findings() -> None:
    st.markdown(
        "A finding is one thing wrong or worth knowing, with a stable code. **blocks**: must not go on as it is. "
        "**warns**: a person should look. **informs**: good to know."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input("Search", key="find", bind="query-params", placeholder="code, meaning or remedy")
        severities = st.multiselect(
            "Severity", [one.value for one in Severity], key="severity", bind="query-params", placeholder="all"
        )
    kinds = [
        kind
        for kind in KINDS.values()
        if (not severities or kind.severity.value in severities) and _matches(kind, words)
    ]
    if kinds:
        frame = pd.DataFrame(
            {
                "code": [kind.code for kind in kinds],
                "severity": [kind.severity.value for kind in kinds],
                "meaning": [kind.title for kind in kinds],
            }
        )
        table.plain(frame, alt="Findings by code, the most serious first")
    else:
        blocks.empty("No finding has these words.", "Clear the search or the severity to see all of them.")
    code = st.selectbox("Explain", list(KINDS), key="code", bind="query-params", width=420)
    _explained(KINDS[code])


def _explained(kind: FindingKind) -> None:
    st.header(escaping.markdown(kind.code), anchor=False)
    st.markdown(_SEVERITIES[kind.severity])
    if kind.stage is Stage.PLAN:
        st.markdown(":gray[Decided from a second reading of the clusters, when a plan is made.]")
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
    for part in document(name):
        if part.example:
            # Streamlit highlights in colours too pale to read, and a line that scrolls is out of the keyboard's reach.
            st.code(part.text, language=None, wrap_lines=True)
        else:
            st.markdown(part.text.strip().removeprefix(beyond))


_TOPICS: Final[Mapping[str, Callable[[], None]]] = {
    "Start": _start,
    _FINDINGS: _findings,
    "Words": _of("glossary"),
    "How it proves": _of("how-it-proves"),
    "Clusters and ACLs": _of("clusters"),
    "Files": _of("formats"),
    "Runbook": _of("runbook"),
    "Plans": _of("plans"),
    "Approving": _of("approving"),
    "Automation": _of("automation"),
    "Lag over time": _of("watch"),
    "Sign-in": _of("sign-in"),
    "Keyboard": _keyboard,
    "Commands": _commands,
}
