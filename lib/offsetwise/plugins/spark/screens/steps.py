"""Stepping through the batches: the checkpoint's content at each moment, and what a failure then would read again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import streamlit as st

from offsetwise.batches import BatchMoment, BatchStanding, History, Lane, Phase, moments, state_at
from offsetwise.console.explore.checkpoint import charts, sources
from offsetwise.console.explore.checkpoint.sources import Reading
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, palette, selectors, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.shards import in_shards, several
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Checkpoint
from offsetwise.plugins.spark.screens import batches
from offsetwise.plugins.spark.screens.batches import Scope, history
from offsetwise.wording import many, number
from offsetwise.wording.verdicts import Tone

NAMED_LANES: Final = 3
StandingLane = tuple[Lane, int | None, int | None]
"""A partition, where it resumes, and up to where it is planned; None if it is not known."""
_STANDING: Final[Columns[StandingLane]] = (
    Column("topic", lambda row: row[0].topic),
    table.partition(lambda row: row[0].partition),
    Column("resumes at", lambda row: row[1]),
    Column("planned until", lambda row: row[2]),
    Column("read again", lambda row: None if row[1] is None or row[2] is None else row[2] - row[1]),
    Column("source", lambda row: row[0].source, when=lambda rows: several(row[0].source for row in rows)),
)


@st.fragment
def draw(reading: sources.Reading) -> None:
    blocks.section("What a failure would read again")
    with guard.block("step"):
        if in_shards(reading.value.checkpoint):
            _in_shards(reading.value.checkpoint)
            return
        steps = steps_of(reading)
        if not steps:
            blocks.empty("No step to show.", "No batch is planned, and no initial offsets are recorded.")
            return
        batch_history = batches.history(reading)
        names = list(steps)
        scope = _choose(reading, names)
        now = " This is where it is now." if _step_index(names) == len(names) - 1 else ""
        moment = steps[names[_step_index(names)]]
        if scope is None:
            st.markdown(f"{holds(batch_history, moment)}{now}")
            blocks.empty("No Kafka partition to draw.", "The batches hold no Kafka offsets that can be read.")
            return
        whole = batches.Scope(name="", first=0, count=len(batch_history.lanes))
        tone, head, rest = fails(batch_history, moment, standing_at(reading, moment, whole))
        st.markdown(
            f"{markdown(holds(batch_history, moment))}{now}  \n"
            f":{tone.colour}-badge[{tone.icon} {markdown(head)}] {markdown(rest)}"
        )
        indexes = step_places(reading, moment, scope)
        figure = step_chart(reading, moment, scope, palette.current())
        if len(indexes) < scope.count:
            st.markdown(
                f":gray[{len(indexes):,} of {scope.count:,} partitions are drawn, chosen by what they would read "
                "again. Choose a topic to see others.]"
            )
        said = takeaway(batch_history, moment, standing_at(reading, moment, scope), scope.lanes)
        st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=said, key="step-chart", theme=None)
        with st.expander("Data"):
            table.show(
                _STANDING, lanes_of(batch_history, standing_at(reading, moment, scope), indexes, scope.first), alt=said
            )


def _in_shards(shown: Checkpoint) -> None:
    ahead = [at for source in shown.sources for at in source.shards if at.planned_position not in (None, at.position)]
    rerun, committed = shown.details.progress.again, shown.details.progress.committed
    if rerun is None:
        done = "No batch is committed yet." if committed is None else f"Batch {number(committed)} is committed."
        st.markdown(f"{done} :green-badge[✓ A failure right now reads nothing twice.]")
        return
    until = (
        f"in {many(len(ahead), 'shard')}: from the position to where it was planned until, both listed under Sources."
        if ahead
        else "from the positions listed under Sources. Where it was planned until is in the batch's files."
    )
    st.markdown(
        f":orange-badge[▲ A failure right now runs batch {number(rerun)} again] {until} Sequence numbers tell no "
        "number of records. The sink may hold part of them already."
    )


def _choose(reading: sources.Reading, names: list[str]) -> Scope | None:
    """Draw the buttons from step to step, and the choice of a topic; return that, None if there is no Kafka topic."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        index = _step_index(names)
        st.button(
            "Previous",
            icon=":material/arrow_back:",
            key="step-previous",
            disabled=index == 0,
            help="The oldest retained step." if index == 0 else None,
            on_click=_go,
            args=(names, -1),
        )
        _step(names)
        last = index == len(names) - 1
        st.button(
            "Next",
            icon=":material/arrow_forward:",
            icon_position="right",
            key="step-next",
            disabled=last,
            help="The newest step: where the checkpoint is now." if last else None,
            on_click=_go,
            args=(names, 1),
        )
        topics = batches.scopes(reading)
        return topics[selectors.choice("Topic", list(topics), "step-topic", width=220)] if topics else None


def _step_index(names: list[str]) -> int:
    requested = st.session_state.get("step") or st.query_params.get("step")
    return names.index(requested) if requested in names else len(names) - 1


def _step(names: list[str]) -> None:
    if st.session_state.get("step") not in names:
        st.session_state["step"] = names[_step_index(names)]
    st.selectbox("Step", names, key="step", bind="query-params", width=260)


def _go(names: list[str], by: int) -> None:
    st.session_state["step"] = names[max(0, min(len(names) - 1, _step_index(names) + by))]


@cached(8)
def steps_of(reading: Reading) -> dict[str, BatchMoment]:
    batch_history = history(reading)
    return {moment.name(batch_history): moment for moment in moments(batch_history)}


@cached(128)
def standing_at(reading: Reading, moment: BatchMoment, scope: Scope) -> BatchStanding:
    return state_at(history(reading), moment, scope.lanes)


@cached(128)
def step_places(reading: Reading, moment: BatchMoment, scope: Scope) -> tuple[int, ...]:
    at = standing_at(reading, moment, scope)
    if scope.count <= charts.MAX_LANES:
        return tuple(range(scope.count))
    moved = np.where(at.start_known & at.end_known, np.abs(at.end - at.start), 0)
    most = np.argsort(-moved, kind="stable")[: charts.MAX_LANES]
    return tuple(sorted(map(int, most)))


@cached(128)
def step_chart(reading: Reading, moment: BatchMoment, scope: Scope, colours: Palette) -> Any:
    batch_history, at, indexes = (
        history(reading),
        standing_at(reading, moment, scope),
        step_places(reading, moment, scope),
    )
    return charts.step(batch_history, at, indexes, scope.lanes, colours)


def holds(history: History, moment: BatchMoment) -> str:
    if moment.row is None:
        return "The initial offsets are recorded in sources/, and no batch is planned."
    batch = history.batches[moment.row]
    if moment.phase is Phase.COMMITTED:
        return f"offsets/{batch.id} and commits/{batch.id} exist: the sink finished batch {number(batch.id)}."
    return (
        f"offsets/{batch.id} exists, commits/{batch.id} does not: batch {number(batch.id)} was planned, and may be "
        "running."
    )


def fails(history: History, moment: BatchMoment, at: BatchStanding) -> tuple[Tone, str, str]:
    """Describe what a failure at that moment would read again: tone, the answer, and its details."""
    if moment.row is None:
        return Tone.RIGHT, "A failure right then reads nothing twice.", "Batch 0 starts at the initial offsets."
    batch = history.batches[moment.row].id
    if moment.phase is Phase.COMMITTED:
        doubt = _unfiled(history, moment.row)
        if doubt is not None:
            return Tone.CAREFUL, "By these files, a failure right then reads nothing twice.", doubt
        follows = f"Batch {number(batch + 1)} starts where batch {number(batch)} ended."
        return Tone.RIGHT, "A failure right then reads nothing twice.", follows
    again = at.again
    if again.regressions:
        return (
            Tone.WRONG,
            f"The plan of batch {number(batch)} goes back in {many(again.regressions, 'partition')}.",
            "Its numbers come from another log; what would be read is not known from them.",
        )
    if not again.at_all:
        why = (
            "Its offset file cannot be read."
            if not at.end_known.any()
            else "Where it began is purged: only its end is retained."
        )
        return Tone.UNKNOWN, f"How much of batch {number(batch)} would be read again is not known.", why
    least = "at least " if again.without_start else ""
    more = f" Where {many(again.without_start, 'more partition')} began is not recorded." if again.without_start else ""
    if not again.records:
        return (
            Tone.RIGHT,
            f"A failure right then runs batch {number(batch)} again, which reads {least}no record.",
            f"Its plan ends where the batch before it ended.{more}",
        )
    return (
        Tone.CAREFUL,
        f"A failure right then reads {least}{many(again.records, 'record')} again.",
        f"Batch {number(batch)} runs again: {_spans(history, at)}. The sink may hold part of them already.{more}",
    )


def takeaway(history: History, moment: BatchMoment, at: BatchStanding, lanes: slice) -> str:
    counted = many(int(at.start_known.sum()), "partition")
    again = many(at.again.records, "record")
    return f"{moment.name(history).capitalize()}: {counted} of {len(history.lanes[lanes]):,}, {again} to read again."


def _unfiled(history: History, row: int) -> str | None:
    """Describe which batches may have run after a commit without leaving a file; None if nothing points to any."""
    batch = history.batches[row].id
    after = history.batches[row + 1].id if row + 1 < len(history.batches) else None
    if after is not None and after > batch + 1:
        return (
            f"But batches {number(batch + 1)} to {number(after - 1)} left no files, as asynchronous progress tracking "
            f"does: a failure while they ran reads everything since batch {number(batch)} again."
        )
    if after is None and any(later.id - batch.id > 1 for batch, later in pairwise(history.batches)):
        return (
            "But batch ids are missing before it, as asynchronous progress tracking leaves them: batches after it may "
            "have run without a file yet, and would be read again."
        )
    return None


def _spans(history: History, at: BatchStanding) -> str:
    known = at.start_known & at.end_known
    moved = [
        (int(end) - int(start), lane, int(start), int(end))
        for lane, start, end, ok in zip(history.lanes, at.start, at.end, known, strict=True)
        if ok and end > start
    ]
    moved.sort(key=lambda span: (-span[0], span[1]))
    named = [
        f"{lane.topic_partition} from {number(start)} to {number(end)}" for _, lane, start, end in moved[:NAMED_LANES]
    ]
    if len(moved) > NAMED_LANES:
        named.append(f"and {many(len(moved) - NAMED_LANES, 'more partition')}")
    return ", ".join(named)


def lanes_of(history: History, at: BatchStanding, indexes: Sequence[int], first: int) -> list[StandingLane]:
    """Return the data behind the chart of a step: one row per drawn partition.

    Args:
        history: The batches.
        at: The state of a range of lanes that begins at `first`.
        indexes: The lanes, counted within that range.
        first: See `at`.
    """
    return [
        (
            history.lanes[first + index],
            int(at.start[index]) if at.start_known[index] else None,
            int(at.end[index]) if at.end_known[index] else None,
        )
        for index in indexes
    ]
