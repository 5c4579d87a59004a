"""Which rows of the audit log are shown: kept in the URL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import choosing
from offsetwise.console.escaping import markdown
from offsetwise.review.allowing import Verb
from offsetwise.store.audit import AuditFilter

ALL: Final = "all"
RESULTS: Final = ("done", "refused")
BEFORE: Final = "before"
"""Of the row below which rows are shown, in the URL and in the session."""
_LARGEST: Final = 2**63 - 1
_DIGEST: Final = 64
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What stands in the fields, as it was typed or came with a link."""

    action: str = ALL
    result: str = ALL
    subject: str = ""
    issuer: str = ""
    plan: str = ""
    digest: str = ""
    since: str = ""
    until: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The filter that was asked for, and what could not be understood of it."""

    filter: AuditFilter
    problems: tuple[str, ...]
    """A sentence each. Markdown."""


def asked(typed: Typed) -> Asked:
    """Understand what was typed; a field that cannot be understood is told, and never left out in silence."""
    problems: list[str] = []

    def number(text: str, what: str) -> int | None:
        text = text.strip()
        if not text:
            return None
        if text.isascii() and text.isdecimal() and int(text[:20]) <= _LARGEST and len(text) <= len(str(_LARGEST)):
            return int(text)
        problems.append(f"{what}: expected a number, found {markdown(text[:40])}.")
        return None

    def moment(text: str, what: str) -> int | None:
        text = text.strip()
        if not text:
            return None
        try:
            read = datetime.fromisoformat(text)
            read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
            return int(read.timestamp() * 1000)
        except (ValueError, OverflowError):
            problems.append(f"{what}: expected a day or a time such as 2026-03-01T14:00, found {markdown(text[:40])}.")
            return None

    def digest(text: str) -> str | None:
        text = text.strip().rstrip("…").lower()
        if text and (len(text) > _DIGEST or set(text) - set("0123456789abcdef")):
            problems.append(f"Digest: expected its first digits 0 to 9 and a to f, found {markdown(text[:40])}.")
            return None
        return text or None

    return Asked(
        filter=AuditFilter(
            issuer=typed.issuer.strip() or None,
            subject=typed.subject.strip() or None,
            action=None if typed.action == ALL else typed.action,
            result=None if typed.result == ALL else typed.result,
            plan=number(typed.plan, "Plan"),
            digest=digest(typed.digest),
            since_ms=moment(typed.since, "From"),
            until_ms=moment(typed.until, "Until"),
            before_seq=number(typed.before, "Rows before"),
        ),
        problems=tuple(problems),
    )


def filters() -> Asked:
    """Draw the filters."""
    with st.container(horizontal=True):
        action = choosing.choice("What", [ALL, *(verb.value for verb in Verb)], "action", width=150)
        result = choosing.choice("Result", [ALL, *RESULTS], "result", width=120)
        plan = _text("Plan", "plan", width=80, says="The number of a plan.")
        digest = _text("Digest begins", "digest", width=130, says="The first digits are enough.")
        subject = _text("Subject", "subject", width=170, says="Exactly as the identity provider says it.")
        issuer = _text("Issuer", "issuer", width=200, says="Exactly as the identity provider says it.")
        since = _text("From (UTC)", "from", width=150, says="A day or a time, as in 2026-03-01T14:00.")
        until = _text("Until (UTC)", "until", width=150, says="A day or a time, not including it.")
    # Its field stands below the table, so at first only the URL has it.
    before = st.session_state[BEFORE] if BEFORE in st.session_state else st.query_params.get(BEFORE, "")
    return asked(
        Typed(
            action=action,
            result=result,
            subject=subject,
            issuer=issuer,
            plan=plan,
            digest=digest,
            since=since,
            until=until,
            before=before,
        )
    )


def leaf(newest: int | None, last: int, *, more: bool) -> None:
    """Draw what leads to older rows, and back to the newest.

    Args:
        newest: Below which row those shown begin; None for the newest.
        last: The oldest row shown.
        more: Whether there may be older ones.
    """
    if newest is None and not more and BEFORE not in st.session_state:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _text("Rows before", BEFORE, width=120, says="Shows rows with smaller numbers only.")
        for label, row, icon, there in (
            ("Newest", "", ":material/first_page:", newest is not None),
            ("Older", str(last), ":material/chevron_right:", more),
        ):
            if there:
                st.button(label, icon=icon, key=f"audit-{label.lower()}", on_click=_before, args=(row,))


def _before(row: str) -> None:
    st.session_state[BEFORE] = row


def _text(label: str, key: str, *, width: int, says: str) -> str:
    return st.text_input(
        label, key=key, bind="query-params", max_chars=_LONGEST, placeholder="any", width=width, help=says
    )
