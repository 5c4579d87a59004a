"""The table of a plan's partitions, and everything about the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console import blocks, choosing, evidence, guard, paging, table
from offsetwise.console import frames as console_frames
from offsetwise.console.board import Seat
from offsetwise.console.escaping import markdown, plain
from offsetwise.console.palette import Palette
from offsetwise.console.reviewing import derived, frames
from offsetwise.console.reviewing.derived import Shown
from offsetwise.console.reviewing.rows import LOOKS, Row, mark, spoken, title
from offsetwise.console.selecting import Selection
from offsetwise.model import PlannedPosition
from offsetwise.review.sheet import Sheet
from offsetwise.wording import many, number, verdicts

_WIDTHS: Final = {
    "look": 84,
    "topic": 96,
    "p": 34,
    "from": 64,
    "to": 64,
    "exactness": 92,
    "replays": 62,
    "skips": 50,
    "reason": 520,
}
_HELP: Final = {
    "look": "What needs a look: unsafe first, then what the version before had otherwise, then what is not exact.",
    "p": "Partition.",
    "from": "The next record to read on the old cluster.",
    "to": "Where the plan resumes on the new cluster.",
    "exactness": "How well that place is known, or that a person chose it.",
    "replays": "Records read twice, at most.",
    "skips": "Records never read, at most.",
}


@st.fragment
def draw(seat: Seat, sheet: Sheet, shown: Shown, colours: Palette) -> None:
    """Draw the table, and the details of the selected partition."""
    with guard.block("partitions"):
        rows = _filtered(shown)
        if not rows:
            blocks.empty("No partition passes this filter.", "Clear it to see more.")
            return
        row = _choose(shown, rows, colours)
        _details(row)
        _kept(seat, sheet, row)


def _filtered(shown: Shown) -> tuple[Row, ...]:
    if len(shown.topics) == 1:
        return shown.rows
    topics = choosing.several("Topic", "topic", shown.topics)
    return tuple(row for row in shown.rows if not topics or row.position.topic in topics)


def _choose(shown: Shown, rows: tuple[Row, ...], colours: Palette) -> Row:
    span = paging.page(len(rows))
    page = rows[span]
    names = tuple(row.name for row in page)
    columns = tuple(name for name in frames.POSITIONS if _says_something(name, page))
    selection = Selection(key="row", grid=f"positions-{shown.key[:16]}-{abs(hash(names))}", names=names, first=0)
    selection.draw(
        derived.position_table(shown, page, columns, colours),
        columns={
            name: st.column_config.Column(
                width=width or 110,
                alignment="right" if name in ("replays", "skips") else alignment,
                help=_HELP.get(name),
                pinned=name in ("topic", "p"),
            )
            for name, (width, alignment) in derived.position_layout(shown, page, columns, _WIDTHS).items()
        },
        alt=f"{many(len(page), 'partition')} with old and new offset, and why each needs a look.",
    )
    return page[selection.choose("Details of", width=320)]


def _says_something(name: str, rows: Sequence[Row]) -> bool:
    match name:
        case "source":
            return len({row.position.source for row in rows}) > 1
        case "new topic":
            return any(row.position.new_topic != row.position.topic for row in rows)
        case _:
            return True


def _details(row: Row) -> None:
    one, known = row.position, mark(row.position)
    look = LOOKS[row.look]
    st.markdown(
        f"**{title(row)}** :{look.tone.colour}-badge[{look}] :{known.tone.colour}-badge[{known}]  \n"
        + "\n".join(f"- {line}" for line in _facts(row))
    )
    proof = one.proof
    near = [] if proof is None else [each for each in (proof.before, proof.after) if each is not None]
    if proof is not None and near:
        table.plain(
            console_frames.neighbour_table(near, first=proof.after, word="next"),
            alt=f"The records next to the place of {plain(row.name)} that stand on both clusters.",
        )


def _facts(row: Row) -> list[str]:
    one = row.position
    made = [f"**unsafe:** {markdown(risk)}" for risk in row.risks]
    if one.override is not None:
        made.append(
            f"**{markdown(one.override.by)}** put {number(one.override.offset)} in the place of the translated offset"
        )
    else:
        bounds = " and ".join(map(number, one.bounds))
        made.append(f"{verdicts.METHOD[one.method]}, between {bounds} on the new cluster")
    if row.changed:
        made.append(f"against the version before, other: {markdown(', '.join(map(spoken, row.changed)))}")
    if one.reason and (one.override is None or one.override.reason not in one.reason):
        made.append(markdown(one.reason))
    made.append(f"log on the new cluster: {number(one.new.log_start)} to {number(one.new.hw)}")
    made.append(_unedited(one))
    if len(one.restart) > 1:
        ends = ", ".join(f"{number(point.old)} → {number(point.new)}" for point in one.restart)
        made.append(f"a restart uses more than one position: {ends}")
    return made


def _unedited(one: PlannedPosition) -> str:
    costs = ", ".join(
        f"{number(count)} {word}"
        for count, word in ((one.raw.skip, "never read"), (one.raw.replay, "read twice"))
        if count
    )
    return f"with the old number instead: {verdicts.RAW[one.raw.verdict]}{f', {costs}' if costs else ''}"


def _kept(seat: Seat, sheet: Sheet, row: Row) -> None:
    """Draw the whole evidence that was kept with the plan, once a person asks: it is much."""
    if not st.toggle("Show the comparison that it was drafted from", key=f"kept-{sheet.digest[:16]}"):
        return
    with guard.block("kept"):
        found = derived.observed(seat.board, seat.person, sheet)
        if found is None:
            blocks.empty("The comparison was not kept.", "The plan was saved without it. Ask its author for the file.")
            return
        one = row.position
        of = next(
            (
                each
                for each in found.comparison.partitions
                if (each.source, each.topic, each.partition) == (one.source, one.topic, one.partition)
            ),
            None,
        )
        if of is None:
            blocks.empty("The comparison does not name this partition.", "Look at how it was decided about, above.")
            return
        evidence.draw(found.comparison, of)
