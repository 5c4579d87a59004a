from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

import streamlit as st

from offsetwise.console.widgets import downloads, selectors, table
from offsetwise.console.widgets.escaping import cut, markdown
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.digits import whole_number
from offsetwise.review.allowing import Verb
from offsetwise.review.people import Person
from offsetwise.review.view import AUDIT_ROWS, PlansView
from offsetwise.store.audit import AuditFilter, AuditRow, Chain, body_of, hash_of
from offsetwise.wording import clock, many, moment
from offsetwise.wording.verdicts import Tone, Verdict

ALL: Final = "all"
_RESULT_WORDS: Final = ("done", "refused")
BEFORE: Final = "before"
"""Key of the row number below which rows are shown, in the URL and in the session."""
SINCE: Final = "from"
UNTIL: Final = "until"
_DAYS: Final = "days"
_LARGEST: Final = 2**63 - 1
_DIGEST: Final = 64
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
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
class ParsedFilters:
    filter: AuditFilter
    problems: tuple[str, ...]
    """One sentence each. Markdown."""


RESULTS: Final = {
    "done": Verdict(icon="✓", word="done", tone=Tone.RIGHT),
    "refused": Verdict(icon="!", word="refused", tone=Tone.WRONG),
}
INTACT: Final = Verdict(icon="✓", word="as written", tone=Tone.RIGHT)
CHANGED: Final = Verdict(icon="!", word="changed", tone=Tone.WRONG)
APART: Final = Verdict(icon="!", word="does not follow", tone=Tone.WRONG)
NOBODY: Final = "nobody signed in"


def parsed(typed: Typed) -> ParsedFilters:
    """Parse the filter fields; a field that cannot be parsed is reported as a problem."""
    problems: list[str] = []

    def number(text: str, what: str) -> int | None:
        text = text.strip()
        if not text:
            return None
        if (typed_number := whole_number(text, _LARGEST)) is not None:
            return typed_number
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

    return ParsedFilters(
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


def filters() -> ParsedFilters:
    with st.container(horizontal=True):
        action = selectors.choice("What", [ALL, *(verb.value for verb in Verb)], "action", width=150)
        result = selectors.choice("Result", [ALL, *_RESULT_WORDS], "result", width=120)
        plan = _text("Plan", "plan", width=80, says="The number of a plan.")
        digest = _text("Digest begins", "digest", width=130, says="The first digits are enough.")
        subject = _text("Subject", "subject", width=170, says="Exactly as the identity provider says it.")
        issuer = _text("Issuer", "issuer", width=200, says="Exactly as the identity provider says it.")
        since = _text("From (UTC)", SINCE, width=150, says="A day or a time, as in 2026-03-01T14:00.")
        until = _text("Until (UTC)", UNTIL, width=150, says="A day or a time, not including it.")
        _calendar()
    # Its field is below the table, so at first only the URL has it.
    before = st.session_state[BEFORE] if BEFORE in st.session_state else st.query_params.get(BEFORE, "")
    return parsed(
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


def _calendar() -> None:
    with st.popover("Days", icon=":material/calendar_month:"):
        today = datetime.now(UTC).date()
        st.date_input(
            "First and last day (UTC)",
            value=[],
            max_value=today,
            format="YYYY-MM-DD",
            key=_DAYS,
            on_change=_choose_days,
        )


def _choose_days() -> None:
    days: tuple[date, ...] = st.session_state[_DAYS]
    if len(days) == 2:
        st.session_state[SINCE] = days[0].isoformat()
        st.session_state[UNTIL] = (days[1] + timedelta(days=1)).isoformat()


def leaf(newest: int | None, last: int, *, more: bool) -> None:
    """Draw the buttons to older rows and back to the newest.

    Args:
        newest: The row below which those shown begin; None for the newest.
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


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _or_nothing(value: object) -> str:
    return "" if value is None else str(value)


def result(row: AuditRow) -> Verdict:
    said = row.record.result
    return RESULTS.get(said, Verdict(icon="?", word=said, tone=Tone.UNKNOWN))


def name(row: AuditRow) -> str:
    said = row.record.details.get("name")
    if isinstance(said, str) and said:
        return said
    return row.record.subject or NOBODY


def change(row: AuditRow) -> str:
    """Return the plan's state before and after; empty if the row is not about a plan.

    A refused attempt changes nothing, and has the same state twice.
    """
    before, after = row.record.details.get("before"), row.record.details.get("after")
    if before is None and after is None:
        return ""
    return f"{'nothing' if before is None else before} → {'nothing' if after is None else after}"


def why(row: AuditRow) -> str:
    said = row.record.details.get("why")
    if said is not None:
        return str(said)
    unreadable = row.record.details.get("unreadable")
    if unreadable is not None:
        return str(unreadable)
    return str(row.record.details.get("answer") or "") if row.record.result != "done" else ""


Linked = tuple[AuditRow, Verdict]
"""A row, and whether it is as it was written."""
COLUMNS: Final[Columns[Linked]] = (
    Column("row", lambda of: of[0].seq, 56, pinned=True),
    Column("when (UTC)", lambda of: Time(of[0].record.at_ms), 186),
    Column("subject", lambda of: of[0].record.subject or "", 104),
    Column("issuer", lambda of: of[0].record.issuer or "", 150),
    Column("what", lambda of: of[0].record.action, 96),
    Column("result", lambda of: result(of[0]), 84),
    Column("chain", lambda of: of[1], 120, when=lambda rows: any(link is not INTACT for _, link in rows)),
    Column("plan", lambda of: _or_nothing(of[0].record.plan), 52),
    Column("digest", lambda of: (of[0].record.digest or "")[:8], 80),
    Column("before → after", lambda of: change(of[0]), 160),
    Column("why", lambda of: cut(why(of[0])), 300),
    Column("who", lambda of: name(of[0]), 130),
)
IN_FILES: Final[Columns[AuditRow]] = (
    Column("row", lambda row: str(row.seq)),
    Column("when", lambda row: moment(row.record.at_ms)),
    Column("issuer", lambda row: row.record.issuer or ""),
    Column("subject", lambda row: row.record.subject or ""),
    Column("name", name),
    Column("what", lambda row: row.record.action),
    Column("result", lambda row: row.record.result),
    Column("plan", lambda row: _or_nothing(row.record.plan)),
    Column("digest", lambda row: row.record.digest or ""),
    Column("before", lambda row: _or_nothing(row.record.details.get("before"))),
    Column("after", lambda row: _or_nothing(row.record.details.get("after"))),
    Column("why", why),
    Column("previous hash", lambda row: row.previous),
    Column("hash", lambda row: row.hash),
)
DETAILS: Final[Columns[tuple[str, object]]] = (
    Column("said", lambda fact: fact[0], 200),
    Column("as", lambda fact: _value(fact[1]), 700),
)
"""Columns of a row's details."""


def links(rows: Sequence[AuditRow], chain: Chain | None) -> tuple[Verdict, ...]:
    """Verify for each row shown whether it is as it was written, as far as it and its neighbour show.

    Args:
        rows: In descending order; a row is compared with the next one only if their numbers are consecutive.
        chain: The last check of the whole chain.
    """
    verdicts = []
    for index, row in enumerate(rows):
        older = rows[index + 1] if index + 1 < len(rows) else None
        if not _as_written(row):
            verdicts.append(CHANGED)
        elif older is not None and older.seq == row.seq - 1 and older.hash != row.previous:
            verdicts.append(APART)
        elif chain is not None and not chain.intact and row.seq == chain.rows + 1:
            verdicts.append(CHANGED)
        else:
            verdicts.append(INTACT)
    return tuple(verdicts)


def verdict(chain: Chain) -> str:
    """Describe the result of checking the whole chain. Markdown."""
    if chain.broken is None:
        if not chain.rows:
            return "**The audit log is intact.** It has no rows yet."
        return (
            f"**The audit log is intact:** {many(chain.rows, 'row')}, each with the hash of the one before. "
            "To find out later whether all of it was written anew, note its last hash elsewhere."
        )
    whole = {0: "", 1: " The row before it is whole."}.get(chain.rows, f" The {chain.rows:,} rows before it are whole.")
    return (
        f"**! The audit log is broken at row {chain.rows + 1:,}.** {markdown(chain.broken)}{whole} What stands from "
        "there on proves nothing."
    )


def heading(row: AuditRow) -> str:
    return f"Row {row.seq:,} · {markdown(row.record.action)} · {markdown(str(result(row)))}"


def described(row: AuditRow) -> str:
    record = row.record
    by = f"**{markdown(name(row))}**"
    if record.subject is not None or record.issuer is not None:
        by += f", subject {markdown(record.subject or '?')} of issuer {markdown(record.issuer or '?')}"
    about = "" if record.plan is None else f"plan {record.plan:,}"
    parts = [clock(record.at_ms, milliseconds=True), about, markdown(change(row))]
    lines = [by, " · ".join(part for part in parts if part), markdown(why(row))]
    return "  \n".join(line for line in lines if line)


def _as_written(row: AuditRow) -> bool:
    try:
        return hash_of(row.previous, body_of(row.seq, row.record)) == row.hash
    except (ValueError, TypeError):
        return False


def rows(board: PlansView, person: Person | None, audit_filter: AuditFilter) -> Iterator[AuditRow]:
    """Yield every row that passes the filter, newest first, read in pages.

    Raises:
        AccessError: The person may not look.
        StoreError: The store cannot be read.
    """
    while True:
        page = board.audit(person, audit_filter)
        yield from page
        if len(page) < AUDIT_ROWS:
            return
        audit_filter = replace(audit_filter, before_seq=page[-1].seq)


def csv(audit_rows: Iterable[AuditRow]) -> bytes:
    return downloads.csv(table.frame(IN_FILES, list(audit_rows), file=True))


def json_lines(audit_rows: Iterable[AuditRow]) -> bytes:
    """Return rows as JSON lines, each with the text that was hashed, so that anybody can check the chain.

    The hash of a row is the SHA-256 of the previous hash, a line feed and `body`.
    """
    return "".join(
        json.dumps(
            {"seq": row.seq, "previous": row.previous, "hash": row.hash, "body": body_of(row.seq, row.record)},
            sort_keys=True,
        )
        + "\n"
        for row in audit_rows
    ).encode()
