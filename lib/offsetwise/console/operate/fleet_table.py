"""The table of a fleet: filters, columns and words. An unknown age or size is missing, never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import streamlit as st

from offsetwise import wording
from offsetwise.console.answers import CachedAnswer
from offsetwise.console.operate.fleet_names import labels_of
from offsetwise.console.widgets import escaping, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.selectors import several
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.errors import (
    CheckpointError,
    LibraryMissingError,
    MissingError,
    NotACheckpointError,
    OutsideRootsError,
    StorageError,
)
from offsetwise.fleets import Fleet, FleetRow, FleetVerdict
from offsetwise.model import Checkpoint
from offsetwise.wording import duration, many, moment, number
from offsetwise.wording.verdicts import Tone, Verdict

SAME_QUERY: Final = "same query id"
"""Listed among the problem codes: copies are not a problem of one checkpoint, but people search for them like one."""
_HOUR_MS: Final = 3_600_000
ANY_AGE: Final = "any age"
NOT_KNOWN: Final = "age not known"
AGES: Final = {"1 hour": _HOUR_MS, "1 day": 24 * _HOUR_MS, "7 days": 168 * _HOUR_MS, "30 days": 720 * _HOUR_MS}
_URGENCY: Final = tuple(FleetVerdict)
_NARROWEST_NAME_PX: Final = 120
_WIDEST_NAME_PX: Final = 280
_LETTER_PX: Final = 7
_CELL_PADDING_PX: Final = 24


class Order(StrEnum):
    WORST = "worst first"
    OLDEST = "longest without a batch"
    LARGEST = "largest state"
    PATH = "by path"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFilters:
    """Which rows are shown. Empty keeps all; names are as displayed."""

    verdicts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    older: str = ANY_AGE
    text: str = ""
    order: str = Order.WORST

    def apply(self, ordered: Ordered, now_ms: int) -> tuple[FleetRow, ...]:
        sought = self.text.strip().casefold()
        return tuple(row for row, text in ordered if sought in text and self._keeps(row, now_ms))

    def _keeps(self, row: FleetRow, now_ms: int) -> bool:
        return (
            (not self.verdicts or row.verdict in self.verdicts)
            and (not self.problems or not _marks(row).isdisjoint(self.problems))
            and (not self.topics or any(escaping.plain(topic) in self.topics for topic, _ in row.topics))
            and self._old_enough(row, now_ms)
        )

    def _old_enough(self, row: FleetRow, now_ms: int) -> bool:
        if self.older == ANY_AGE:
            return True
        since = age_ms(row.planned_at_ms, now_ms)
        if self.older == NOT_KNOWN:
            return since is None
        limit = AGES.get(self.older)
        return limit is None or (since is not None and since > limit)


Rows = tuple[FleetRow, ...]
Ordered = tuple[tuple[FleetRow, str], ...]
"""Rows in table order, each with the text that a search looks into."""


def in_order(rows: Sequence[FleetRow], order: str, now_ms: int) -> Ordered:
    """Sort the rows of a fleet; any `order` that is not an `Order` sorts the worst first."""
    fleet_rows = sorted(rows, key=lambda row: row.uri)
    if order == Order.LARGEST:
        fleet_rows.sort(key=lambda row: -1 if row.state_bytes is None else row.state_bytes, reverse=True)
    elif order != Order.PATH:
        fleet_rows.sort(key=lambda row: _since(row, now_ms), reverse=True)
    if order == Order.WORST:
        fleet_rows.sort(key=lambda row: (_URGENCY.index(row.verdict), row.same_query == 1))
    return tuple((row, _text(row)) for row in fleet_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFacts:
    answer: tuple[Tone, str, str]
    longest: str
    """The longest time without a batch."""
    counts: Mapping[FleetVerdict, int]
    warned: int
    """Checkpoints that can be restarted and have a warning."""
    copies: int
    codes: tuple[str, ...]
    """Options of the problem filter, as displayed."""
    topics: tuple[str, ...]
    """As displayed."""
    labels: Mapping[str, str]
    """Display name of each checkpoint, by URI; see `labels_of`."""


VERDICTS: Final = {
    FleetVerdict.UNREADABLE: Verdict(icon="?", word="unreadable", tone=Tone.UNKNOWN),
    FleetVerdict.PROBLEMS: Verdict(icon="!", word="problems", tone=Tone.WRONG),
    FleetVerdict.PENDING: Verdict(icon="◇", word="pending batch", tone=Tone.CAREFUL),
    FleetVerdict.RESTARTABLE: Verdict(icon="✓", word="restartable", tone=Tone.RIGHT),
}
MEANING: Final = {
    FleetVerdict.UNREADABLE: "It gave nothing: the row says why.",
    FleetVerdict.PROBLEMS: "Something in it blocks a restart, or a move to the other cluster.",
    FleetVerdict.PENDING: "A batch was planned and not committed. It runs again on restart.",
    FleetVerdict.RESTARTABLE: "It starts where its last committed batch ended or, without batches, where it was taken.",
}
UNREADABLE: Final = {
    error.__name__: words
    for error, words in (
        (NotACheckpointError, "not a checkpoint"),
        (MissingError, "not there"),
        (OutsideRootsError, "outside the allowed roots"),
        (LibraryMissingError, "a library is missing"),
        (StorageError, "the storage fails"),
        (CheckpointError, "no usable checkpoint"),
    )
}
"""Why a checkpoint could not be read, by the name of the error."""


def _since(row: FleetRow, now_ms: int) -> float:
    since = age_ms(row.planned_at_ms, now_ms)
    return float("-inf") if since is None else since


def _marks(row: FleetRow) -> set[str]:
    codes = set(map(escaping.plain, problems(row)))
    return {*codes, SAME_QUERY} if row.same_query > 1 else codes


def _text(row: FleetRow) -> str:
    job_id = row.checkpoint.job_id if row.checkpoint else None
    return "\n".join((row.uri, *row.names, job_id or "")).casefold()


def filters(codes: Sequence[str], topics: Sequence[str]) -> FleetFilters:
    with st.container(horizontal=True):
        return FleetFilters(
            verdicts=several("Verdict", "verdict", [str(verdict) for verdict in FleetVerdict]),
            problems=several("Problem", "problem", codes),
            topics=several("Topic", "topic", topics),
            older=st.selectbox(
                "No batch for", [ANY_AGE, *AGES, NOT_KNOWN], key="older", bind="query-params", width=160
            ),
            text=st.text_input(
                "Path or query id has", key="text", bind="query-params", max_chars=200, placeholder="any text"
            ),
            order=st.selectbox("Order", [str(order) for order in Order], key="order", bind="query-params", width=210),
        )


def now_ms(snapshot: CachedAnswer[Fleet]) -> int:
    """Return the time up to which ages are counted: when the fleet was read, so that a rerun does not change them."""
    return int(snapshot.at.timestamp() * 1000)


@cached(8)
def facts(snapshot: CachedAnswer[Fleet]) -> FleetFacts:
    rows = snapshot.value.rows
    copies = sum(row.same_query > 1 for row in rows)
    return FleetFacts(
        answer=answer(rows),
        longest=longest(rows, now_ms(snapshot)),
        counts=Counter(row.verdict for row in rows),
        warned=sum(row.warned for row in rows),
        copies=copies,
        codes=(
            *sorted({escaping.plain(code) for row in rows for code in problems(row)}),
            *((SAME_QUERY,) if copies else ()),
        ),
        topics=tuple(sorted({escaping.plain(topic) for row in rows for topic, _ in row.topics})),
        labels=labels_of(rows, snapshot.value.roots),
    )


@cached(32)
def filtered(snapshot: CachedAnswer[Fleet], filters: FleetFilters) -> Rows:
    return filters.apply(_in_order(snapshot, filters.order), now_ms(snapshot))


@cached(8)
def _in_order(snapshot: CachedAnswer[Fleet], order: str) -> Ordered:
    return in_order(snapshot.value.rows, order, now_ms(snapshot))


@cached(16)
def fleet_table(snapshot: CachedAnswer[Fleet], rows: Rows, colours: Palette) -> table.Prepared:
    return table.prepared(columns(facts(snapshot).labels, now_ms(snapshot), rows), rows, colours)


def columns(labels: Mapping[str, str], now_ms: int, rows: Rows) -> Columns[FleetRow]:
    """Return the columns on screen.

    Args:
        labels: Display name of each checkpoint, by URI.
        now_ms: Time up to which ages are counted.
        rows: The rows shown; the column is wide enough for their longest name if there is room.
    """
    longest = max((len(labels[row.uri]) for row in rows), default=0)
    return (
        Column("verdict", lambda row: VERDICTS[row.verdict], 126),
        Column(
            "checkpoint",
            lambda row: labels[row.uri],
            min(_WIDEST_NAME_PX, max(_NARROWEST_NAME_PX, _CELL_PADDING_PX + _LETTER_PX * longest)),
            pinned=True,
        ),
        Column(
            "age",
            lambda row: age_ms(row.planned_at_ms, now_ms),
            74,
            "Time since the newest batch was planned.",
            printed=age,
        ),
        Column(
            "problems",
            lambda row: ", ".join(problems(row)),
            176,
            "What is wrong or worth knowing, by its code. Select the row to see what to do.",
        ),
        Column("restart", restart, 346, "Where the query restarts."),
        Column(
            "since commit",
            lambda row: age_ms(row.committed_at_ms, now_ms),
            104,
            "Time since the newest committed batch was planned. The commit log keeps no times of its own.",
            printed=age,
        ),
        Column("planned", planned, 74, "The newest planned batch."),
        Column("committed", committed, 86, "The newest committed batch."),
        Column("topics", topics, 170, "Topics, each with the number of its partitions."),
        Column("partitions", lambda row: row.partitions, 80),
        Column("state", lambda row: row.state_bytes, 78, "What the files of its state stores take.", printed=size),
        Column("copies", copies, 78, "How many checkpoints here carry the same query id.", lambda _: Tone.CAREFUL),
        Column("newest batch (UTC)", lambda row: Time(row.planned_at_ms), 190),
        Column("query id", lambda row: (row.checkpoint and row.checkpoint.job_id) or "?", 280),
        Column("engine", lambda row: row.checkpoint.engine if row.checkpoint else "?", 70),
    )


def planned(row: FleetRow) -> int | None:
    return row.checkpoint.details.progress.planned if row.checkpoint else None


def committed(row: FleetRow) -> int | None:
    return row.checkpoint.details.progress.committed if row.checkpoint else None


def age(milliseconds: int | None) -> str:
    """Format an age; one in the future, from a wrong clock, is shown as ahead instead of cut to 0.

    >>> age(8_000), age(43_200_000), age(8_640_000_000), age(-300_000), age(None)
    ('8 s', '12 h', '100 d', '5 min ahead', '?')
    """
    if milliseconds is None:
        return "?"
    shown = duration(abs(milliseconds))
    return f"{shown} ahead" if milliseconds <= -1000 else shown


def size(count: int | None) -> str:
    """Format a number of bytes; 0 is a query without state.

    >>> size(0), size(3_370), size(5_000_000_000), size(None)
    ('none', '3.3 KiB', '4.7 GiB', '?')
    """
    return "none" if count == 0 else wording.size(count)


def age_ms(then_ms: int | None, now_ms: int) -> int | None:
    return None if then_ms is None or moment(then_ms) == "?" else now_ms - then_ms


def topics(row: FleetRow, at_most: int = 3) -> str:
    """List the topics of a row with their partitions; `?` if damage hides them. Not escaped."""
    if row.partitions is None:
        return "?"
    named = [f"{topic} ({partitions})" for topic, partitions in row.topics]
    rest = len(named) - at_most
    return ", ".join(named[:at_most]) + (f", and {number(rest)} more" if rest > 0 else "")


def copies(row: FleetRow) -> str:
    return f"▲ {number(row.same_query)} alike" if row.same_query > 1 else ""


def problems(row: FleetRow) -> tuple[str, ...]:
    """Return the codes of the problems; for an unreadable checkpoint, the reason. Not escaped."""
    if isinstance(row.read, FailedCheckpoint):
        return (UNREADABLE.get(row.read.error, "could not be read"),)
    return row.codes


def restart(row: FleetRow) -> str:
    """Describe where it restarts, or why that is not known. Not escaped."""
    return row.read.restart if isinstance(row.read, Checkpoint) else row.read.problem


def answer(rows: Sequence[FleetRow]) -> tuple[Tone, str, str]:
    """Describe the state of the fleet: tone, a short headline, and a sentence or two."""
    count = Counter(row.verdict for row in rows)
    total = many(len(rows), "checkpoint")
    bad = count[FleetVerdict.UNREADABLE] + count[FleetVerdict.PROBLEMS]
    pending = count[FleetVerdict.PENDING]
    alike = sum(row.same_query > 1 for row in rows)
    said = []
    if bad:
        tone, head = Tone.WRONG, f"{_some(bad, rows)} cannot be relied on."
        said.append(
            f"{_have(count[FleetVerdict.PROBLEMS], 'problems that block a restart or a move')}, "
            f"{number(count[FleetVerdict.UNREADABLE])} could not be read."
        )
        if pending:
            said.append(f"A planned batch is not committed in {number(pending)} more.")
    elif pending:
        tone, head = Tone.CAREFUL, f"{_some(pending, rows)} would run a batch again."
        said.append("It was planned and not committed. Best let it commit on the old cluster first.")
    else:
        tone, head = Tone.RIGHT, f"{'The checkpoint' if len(rows) == 1 else f'All {total}'} can be restarted."
        said.append("No planned batch is uncommitted.")
    warned = sum(row.warned for row in rows)
    if warned:
        tone = Tone.CAREFUL if tone is Tone.RIGHT else tone
        said.append(f"{_have(warned, 'warnings')}: the column problems names them.")
    if alike:
        tone = Tone.CAREFUL if tone is Tone.RIGHT else tone
        said.append(f"{number(alike)} carry a query id that another has too: they are copies.")
    return tone, head, " ".join(said)


def longest(rows: Sequence[FleetRow], now_ms: int) -> str:
    return age(max((since for row in rows if (since := age_ms(row.planned_at_ms, now_ms)) is not None), default=None))


def _some(count: int, rows: Sequence[FleetRow]) -> str:
    return "The checkpoint" if len(rows) == 1 else f"{number(count)} of {many(len(rows), 'checkpoint')}"


def _have(count: int, what: str) -> str:
    return f"{number(count)} {'has' if count == 1 else 'have'} {what}"
