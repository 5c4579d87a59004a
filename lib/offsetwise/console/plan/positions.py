from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import streamlit as st

from offsetwise import wording
from offsetwise.console.board import Seat
from offsetwise.console.plan.panel.position_words import at_most, mark, moves, spoken
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, evidence, selectors, table, terms
from offsetwise.console.widgets.cached import cached, told_apart_by
from offsetwise.console.widgets.escaping import cut, markdown, plain, sentence
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.selectors import row_names
from offsetwise.console.widgets.table import Column, Columns, Selection
from offsetwise.model import Comparison, Plan, PlannedPosition
from offsetwise.review.board import Board
from offsetwise.review.demo import name_of
from offsetwise.review.difference import Difference
from offsetwise.review.people import Person
from offsetwise.review.risk import risks
from offsetwise.review.sheet import Sheet
from offsetwise.wording import many, number, signed, verdicts
from offsetwise.wording.verdicts import Tone, Verdict


class Attention(IntEnum):
    """How much attention a partition needs, most first."""

    UNSAFE = 0
    CHANGED = 1
    INEXACT = 2
    NOTHING = 3


LOOKS: Final = {
    Attention.UNSAFE: Verdict(icon="!", word="unsafe", tone=Tone.WRONG),
    Attention.CHANGED: Verdict(icon="▲", word="changed", tone=Tone.CAREFUL),
    Attention.INEXACT: Verdict(icon="≈", word="not exact", tone=Tone.CAREFUL),
    Attention.NOTHING: Verdict(icon="✓", word="proven", tone=Tone.RIGHT),
}


@told_apart_by(lambda row: row.name)
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    position: PlannedPosition
    name: str
    """Unique name within the plan, on screen and in the URL."""
    attention: Attention
    risks: tuple[str, ...]
    """The risks of its position, one clause each."""
    changed: tuple[str, ...]
    """The parts that differ from the version before; empty if there is none, or nothing changed."""

    @property
    def reason_text(self) -> str:
        position = self.position
        own = "" if position.override is None else f"{name_of(position.override.by)}: {position.override.reason}"
        clauses = [
            clause for clause in self.risks if position.override is None or position.override.reason not in clause
        ]
        changed = f"changed: {', '.join(map(spoken, self.changed))}" if self.changed else ""
        parts = [own or position.reason, *clauses, changed]
        return " · ".join(part for part in parts if part)


POSITIONS: Final[Columns[Row]] = (
    Column("topic", lambda row: row.position.topic, 96, pinned=True),
    table.partition(lambda row: row.position.partition, pinned=True),
    Column("from", lambda row: row.position.old_offset, 64, "The next record to read on the old cluster."),
    Column("to", lambda row: row.position.new_offset, 64, "Where the plan resumes on the new cluster."),
    Column(
        "shift",
        lambda row: verdicts.shift(row.position),
        56,
        "New offset minus old offset; 0 stays.",
        printed=signed,
        right=True,
        when=lambda rows: any(verdicts.shift(row.position) is not None for row in rows),
    ),
    Column(
        "look",
        lambda row: LOOKS[row.attention],
        100,
        "What needs a look: unsafe first, then what the version before had otherwise, then what is not exact.",
        heading="needs a look",
    ),
    Column("exactness", lambda row: mark(row.position), 92, "How well it is known, or that a person chose it."),
    Column(
        "replays",
        lambda row: at_most(row.position, row.position.replay),
        62,
        "Records read twice, at most.",
        right=True,
    ),
    Column(
        "skips",
        lambda row: at_most(row.position, row.position.skip),
        50,
        "Records never read, at most.",
        lambda row: Tone.RIGHT if row.position.skip == 0 else Tone.WRONG,
        right=True,
    ),
    Column("reason", lambda row: cut(row.reason_text), 520),
    Column(
        "source", lambda row: row.position.source, 90, when=lambda rows: len({row.position.source for row in rows}) > 1
    ),
    Column(
        "new topic",
        lambda row: row.position.new_topic,
        110,
        when=lambda rows: any(row.position.new_topic != row.position.topic for row in rows),
    ),
)
Rows = tuple[Row, ...]
_ROW: Final = "row"
"""Key of the selected partition's name, in the URL and in the session."""
_FILTERED: Final = 12
"""With more partitions than this, of several topics, they can be filtered by topic."""


@told_apart_by(lambda shown: shown.key)
@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    key: str
    rows: Rows
    headline: str
    cost: tuple[int | None, int | None, int]
    topics: tuple[str, ...]


@st.fragment
def draw(seat: Seat, sheet: Sheet, shown: Shown, colours: Palette) -> None:
    with guard.block("partitions"):
        rows = _filtered(shown)
        if not rows:
            blocks.empty("No partition passes this filter.", "Clear it to see more.")
            return
        row = _choose(shown, rows, colours)
        details(row)
        _stored_evidence(seat, sheet, row)


def _filtered(shown: Shown) -> tuple[Row, ...]:
    """Let the person filter the rows: those that stay as they are and need no attention are hidden at first."""
    quiet = {row.name for row in shown.rows if row.attention is Attention.NOTHING and not moves(row.position)}
    hidden = quiet if len(quiet) < len(shown.rows) else set()
    several = len(shown.rows) > _FILTERED and len(shown.topics) > 1
    topics = selectors.several("Topic", "topic", shown.topics) if several else ()
    if hidden and not topics:
        selected = st.session_state.get(_ROW) or st.query_params.get(_ROW)
        with_all = st.toggle(
            f"Show the {many(len(hidden), terms.said('partition'))} that {'stays' if len(hidden) == 1 else 'stay'} too",
            key=f"stay-{shown.key[:16]}",
            value=selected in hidden,
        )
        hidden = set() if with_all else hidden
    return tuple(row for row in shown.rows if row.position.topic in topics or (not topics and row.name not in hidden))


def _choose(shown: Shown, rows: tuple[Row, ...], colours: Palette) -> Row:
    span = table.page(len(rows))
    page = rows[span]
    names = tuple(row.name for row in page)
    selection = Selection(key=_ROW, grid=f"positions-{shown.key[:16]}-{abs(hash(names))}", names=names, first=0)
    selection.draw(
        position_table(shown, page, colours),
        alt=f"{many(len(page), terms.said('partition'))} with old and new offset, and why each needs a look.",
    )
    return page[selection.choose("Details of", width=320)]


def details(row: Row) -> None:
    position, known = row.position, mark(row.position)
    verdict = LOOKS[row.attention]
    st.markdown(
        f"**{title(row)}** :{verdict.tone.colour}-badge[{verdict}] :{known.tone.colour}-badge[{known}]  \n"
        + "\n".join(f"- {line}" for line in _facts(row))
    )
    proof = position.proof
    near = [] if proof is None else [neighbour for neighbour in (proof.before, proof.after) if neighbour is not None]
    if proof is not None and near:
        table.show(
            evidence.neighbours(proof.after, "next"),
            near,
            alt=f"The records next to the position of {plain(row.name)} that are on both clusters.",
        )
    if proof is not None and proof.parts:
        table.show(
            evidence.copied_records(),
            evidence.copied(proof.parts),
            alt=f"The records next to the position of {plain(row.name)} that are on both streams, of each old one.",
        )


def _facts(row: Row) -> list[str]:
    position = row.position
    results = [f"**unsafe:** {sentence(risk)}" for risk in row.risks]
    if position.override is not None:
        results.append(
            f"**{markdown(name_of(position.override.by))}** put {number(position.override.offset)} instead of "
            f"{terms.said('the translated offset')}"
        )
    else:
        low, high = position.bounds
        between = f"at or above {number(low)}" if high is None else f"between {number(low)} and {number(high)}"
        results.append(f"{verdicts.METHOD[position.method]}, {between} {terms.said('on the new cluster')}")
    if row.changed:
        results.append(f"against the version before, other: {markdown(', '.join(map(spoken, row.changed)))}")
    if position.reason and (position.override is None or position.override.reason not in position.reason):
        results.append(sentence(position.reason))
    results.append(
        f"{terms.said('log on the new cluster')}: {number(position.new.log_start)} to {number(position.new.hw)}"
    )
    results.append(_unedited(position))
    if len(position.restart) > 1:
        ends = ", ".join(f"{number(point.old)} → {number(point.new)}" for point in position.restart)
        results.append(f"a restart uses more than one position: {ends}")
    return results


def _unedited(position: PlannedPosition) -> str:
    costs = ", ".join(
        f"{number(count)} {word}"
        for count, word in ((position.raw.skip, "never read"), (position.raw.replay, "read twice"))
        if count
    )
    return f"with the old number instead: {verdicts.RAW[position.raw.verdict]}{f', {costs}' if costs else ''}"


def _stored_evidence(seat: Seat, sheet: Sheet, row: Row) -> None:
    if not st.toggle("Show the comparison that it was drafted from", key=f"kept-{sheet.digest[:16]}"):
        return
    with guard.block("kept"):
        comparison = observed(seat.board, seat.person, sheet)
        if comparison is None:
            blocks.empty("The comparison was not kept.", "The plan was saved without it. Ask its author for the file.")
            return
        position = row.position
        of = next(
            (
                partition
                for partition in comparison.partitions
                if (partition.source, partition.topic, partition.partition)
                == (position.source, position.topic, position.partition)
            ),
            None,
        )
        if of is None:
            blocks.empty("The comparison does not name this partition.", "Look at how it was decided about, above.")
            return
        evidence.draw(comparison, of)


def rows_of(plan: Plan, since: Difference | None) -> tuple[Row, ...]:
    """Return the partitions of a plan, those that need attention first.

    Args:
        plan: The plan.
        since: The difference to the version before; None for the first one.
    """
    changed = {} if since is None else {(c.source, c.topic, c.partition): c.parts for c in since.positions}
    names = row_names(plan.positions, among=plan.positions)
    rows = []
    for position, name in zip(plan.positions, names, strict=True):
        results = tuple(risks(position))
        parts = changed.get((position.source, position.topic, position.partition), ())
        rows.append(
            Row(
                position=position,
                name=name,
                attention=_attention(position, results, parts),
                risks=results,
                changed=parts,
            )
        )
    return tuple(sorted(rows, key=order))


def headline(rows: Sequence[Row]) -> str:
    count = sum(row.attention is not Attention.NOTHING for row in rows)
    changed = sum(moves(row.position) for row in rows)
    message = wording.changing(changed, len(rows) - changed)
    if not count:
        return f"{message}, all proven"
    needs = "needs" if count == 1 else "need"
    of = f"{number(count)} of {terms.said(many(len(rows), 'partition'))} {needs} a look, shown first"
    return f"{message}; {of}"


def cost(rows: Sequence[Row]) -> tuple[int | None, int | None, int]:
    """Return upper bounds of skipped and replayed records, and the number of partitions without one.

    A bound is None if any of its parts is unknown.

    >>> cost(())
    (0, 0, 0)
    """
    skips, replays = [row.position.skip for row in rows], [row.position.replay for row in rows]
    skipped, replayed = (
        None if None in counts else sum(count for count in counts if count is not None) for counts in (skips, replays)
    )
    return skipped, replayed, max(skips.count(None), replays.count(None))


def title(row: Row) -> str:
    position = row.position
    there = "" if position.new_topic == position.topic else f" on {markdown(position.new_topic)}"
    start = "no position" if position.old_offset is None else number(position.old_offset)
    return f"{markdown(row.name)} · {start} → {number(position.new_offset)}{there}"


def _attention(position: PlannedPosition, warnings: tuple[str, ...], parts: tuple[str, ...]) -> Attention:
    if warnings:
        return Attention.UNSAFE
    if parts:
        return Attention.CHANGED
    return Attention.NOTHING if position.exactness.proven else Attention.INEXACT


def order(row: Row) -> tuple[int, bool, int, int, bool, int, str, int, str]:
    """Return the sort key of partitions: those that need attention come first."""
    position = row.position
    return (
        row.attention,
        position.override is None,
        -(position.skip or 0),
        -(position.replay or 0),
        not moves(position),
        -abs(verdicts.shift(position) or 0),
        position.topic,
        position.partition,
        position.source,
    )


@cached(8)
def shown(sheet: Sheet, since: Difference | None) -> Shown:
    rows = rows_of(sheet.plan, since)
    return Shown(
        key=f"{sheet.digest}{'' if since is None else since.before}",
        rows=rows,
        headline=headline(rows),
        cost=cost(rows),
        topics=tuple(sorted({row.position.topic for row in rows})),
    )


@cached(16)
def position_table(shown: Shown, rows: Rows, colours: Palette) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(POSITIONS, rows, colours)


@cached(2, spinner="Reading what was kept with the plan …")
def observed(_board: Board, _person: Person | None, sheet: Sheet) -> Comparison | None:
    return _board.observed(_person, sheet.row.id, sheet.row.number)
