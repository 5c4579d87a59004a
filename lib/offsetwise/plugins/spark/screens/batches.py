"""Batches over time, and two of them compared. Results are shared by all sessions and must not be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from offsetwise import wording
from offsetwise.batches import BatchFact, History, Lane, facts, history_of
from offsetwise.console.answers import Answers
from offsetwise.console.explore.checkpoint import charts, sources
from offsetwise.console.explore.checkpoint.sources import Reading, watermark
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, palette, selectors, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.shards import in_shards, several
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.plugins.spark.screens.files import files_of
from offsetwise.wording import duration, many, number
from offsetwise.wording.verdicts import Tone, Verdict

_EVERY: Final = "all, added up"
ALL: Final = "all topics"
_COMMITTED: Final = Verdict(icon="✓", word="committed", tone=Tone.RIGHT)
_PLANNED: Final = Verdict(icon="◇", word="planned", tone=Tone.CAREFUL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    name: str
    first: int
    count: int

    @property
    def lanes(self) -> slice:
        return slice(self.first, self.first + self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The ends of one partition in two batches; None if a batch does not name it."""

    lane: Lane
    first: int | None
    second: int | None

    @property
    def moved(self) -> int | None:
        """The difference; negative if it went back."""
        return None if self.first is None or self.second is None else self.second - self.first


MOVED: Final[Columns[Moved]] = (
    Column("topic", lambda row: row.lane.topic),
    table.partition(lambda row: row.lane.partition),
    Column("first end", lambda row: row.first),
    Column("second end", lambda row: row.second),
    Column("moved", lambda row: row.moved),
    Column("source", lambda row: row.lane.source, when=lambda rows: several(row.lane.source for row in rows)),
)
_CHANGED: Final[Columns[tuple[str, str, str]]] = (
    Column("configuration", lambda row: row[0]),
    Column("in the first", lambda row: row[1]),
    Column("in the second", lambda row: row[2]),
)


@st.fragment
def timeline(reading: sources.Reading) -> None:
    blocks.section("Batches over time")
    with guard.block("timeline"):
        topics = scopes(reading)
        if not reading.value.checkpoint.details.batches:
            blocks.empty("No batch is retained.", "A query plans its first batch when it starts.")
            return
        shards = in_shards(reading.value.checkpoint)
        if not topics and not shards:
            blocks.empty("No Kafka offsets in the retained batches.", "Their files are shown below as they are.")
        with st.container(horizontal=True):
            scope = _scope(reading, topics)
        facts = batch_facts(reading, scope)
        if not shards:
            st.markdown(
                ":gray[Solid: committed. Hollow and hatched: planned, not committed. Records are differences of end "
                "offsets: compacted topics and transactions hold fewer.]"
            )
        _charts(reading, scope, facts)
        columns = _IN_SHARDS if shards else _BATCHES
        with st.expander("Data", expanded=True):
            table.show(columns, facts[::-1], alt=_ends(facts))
        with downloads.to_the_right_of(f":gray[{many(len(facts), 'retained batch', 'retained batches')}.]"):
            downloads.rows("batches", "batches", lambda: table.frame(columns, facts[::-1]))


def _scope(reading: sources.Reading, topics: dict[str, Scope]) -> Scope:
    if not topics:
        return Scope(name=ALL, first=0, count=0)
    topic = topics[selectors.choice("Topic", list(topics), "topic-of-batches")]
    if topic.count < 2 or (topic.first == 0 and len(topics) > 1 and topic is next(iter(topics.values()))):
        return topic
    numbers = {str(number): number for number in partitions(reading, topic)}
    chosen = selectors.choice("Partition", [_EVERY, *numbers], "partition-of-batches")
    return topic if chosen == _EVERY else partition(reading, topic, numbers[chosen])


def _charts(reading: sources.Reading, scope: Scope, facts: tuple[BatchFact, ...]) -> None:
    ends, amounts, times = batch_charts(reading, scope, palette.current())
    if not scope.count:
        st.markdown("**Time between batches**")
        st.plotly_chart(times, config=blocks.CHART_OPTIONS, alt=_paced(facts), key="chart-times", theme=None)
        return
    st.plotly_chart(ends, config=blocks.CHART_OPTIONS, alt=_ends(facts), key="chart-ends", theme=None)
    generator, right = st.columns(2)
    with generator:
        st.markdown("**Records per batch**")
        st.plotly_chart(amounts, config=blocks.CHART_OPTIONS, alt=_read(facts), key="chart-records", theme=None)
    with right:
        st.markdown("**Time between batches**")
        st.plotly_chart(times, config=blocks.CHART_OPTIONS, alt=_paced(facts), key="chart-times", theme=None)


def _ends(facts: tuple[BatchFact, ...]) -> str:
    planned = sum(not fact.batch.committed for fact in facts)
    ends = [fact.end for fact in facts if fact.end is not None]
    span = f", from {number(ends[0])} to {number(ends[-1])}" if ends else ""
    return f"{many(len(facts), 'batch', 'batches')}, {planned} of them planned and not committed{span}."


def _read(facts: tuple[BatchFact, ...]) -> str:
    known = [fact.read.records for fact in facts if fact.read.at_all]
    if not known:
        return "Records per batch are not known: their beginnings are not retained."
    return f"Between {number(min(known))} and {number(max(known))} records per batch."


def _paced(facts: tuple[BatchFact, ...]) -> str:
    known = [fact.interval_ms for fact in facts if fact.interval_ms is not None]
    if not known:
        return "Time between batches is not known."
    return f"Batches were planned between {duration(min(known))} and {duration(max(known))} after the one before."


@st.fragment
def compared(answers: Answers, migration: str, name: str, reading: sources.Reading) -> None:
    blocks.section("Two batches compared")
    with guard.block("comparing"):
        batch_history = history(reading)
        ids = {str(batch.id): row for row, batch in enumerate(batch_history.batches)}
        if len(ids) < 2:
            blocks.empty("Fewer than two batches are retained.", "There is nothing to compare yet.")
            return
        names = list(reversed(ids))
        with st.container(horizontal=True):
            first = ids[selectors.choice("First batch", names, "first", default=names[1], width=160)]
            second = ids[selectors.choice("Second batch", names, "second", width=160)]
        rows = moved_between(reading, first, second)
        st.markdown(_said(batch_history, first, second))
        if not rows and in_shards(reading.value.checkpoint):
            st.markdown(":gray[Where each shard ends in them: see their files below.]")
        elif not rows:
            blocks.empty("Neither batch has Kafka offsets that can be read.", "Look at their files below.")
        else:
            steps = [row.moved for row in rows if row.moved is not None]
            said = (
                f"{number(sum(step > 0 for step in steps))} forward, {number(sum(step < 0 for step in steps))} back, "
                f"{number(steps.count(0))} unmoved, {number(len(rows) - len(steps))} in one of them only."
            )
            st.markdown(f"**{many(len(rows), 'partition')}**: {said}")
            table.paged(MOVED, rows, "moved-rows", alt=said)
            with st.container(horizontal=True):
                downloads.rows("moved", "moved", lambda: table.frame(MOVED, rows))
        _configuration(
            answers, migration, name, reading, (batch_history.batches[first].id, batch_history.batches[second].id)
        )


def _said(batch_history: History, first: int, second: int) -> str:
    a, b = batch_history.batches[first], batch_history.batches[second]
    apart = None if a.timestamp_ms is None or b.timestamp_ms is None else b.timestamp_ms - a.timestamp_ms
    before, after = sources.watermark(a.watermark_ms), sources.watermark(b.watermark_ms)
    marks = f"{before} in both" if before == after else f"{before} → {after}"
    return (
        f":gray[Batch {number(b.id)} was planned {duration(apart)} after batch {number(a.id)}. "
        f"Watermark: {markdown(marks)}.]"
    )


def _configuration(
    answers: Answers, migration: str, name: str, reading: sources.Reading, batches: tuple[int, int]
) -> None:
    files = [
        files_of(answers, migration, name, reading, batch, key=f"compared-{batch}") for batch in dict.fromkeys(batches)
    ]
    parsed = [file.offsets.parsed if file is not None else None for file in files]
    known = [offset_file[0].configuration for offset_file in parsed if offset_file is not None]
    if len(known) < len(files):
        st.markdown(":gray[? Recorded configuration: the file of one of them cannot be read.]")
        return
    changed = changed_pairs(known[0], known[-1])
    if changed:
        st.markdown(f"**Recorded configuration: {many(len(changed), 'difference')}**")
        table.show(_CHANGED, changed, alt=f"{many(len(changed), 'setting')} recorded differently.")
    else:
        st.markdown(f":gray[Recorded configuration: the same {many(len(known[0]), 'setting')} in both.]")


@cached(8)
def history(reading: Reading) -> History:
    return history_of(reading.value.checkpoint.details.batches, reading.value.initial)


@cached(8)
def scopes(reading: Reading) -> dict[str, Scope]:
    batch_history = history(reading)
    sources = {log.source for log in batch_history.logs}
    results = {}
    for log in sorted(batch_history.logs, key=lambda log: (log.topic, log.source)):
        name = log.topic if len(sources) == 1 else f"{log.topic} (source {log.source})"
        results[name] = Scope(name=name, first=log.first, count=log.count)
    if len(results) > 1:
        name = next(plain(ALL + mark) for mark in ("", " of the query", " …") if ALL + mark not in results)
        results = {name: Scope(name=name, first=0, count=len(batch_history.lanes)), **results}
    return results


@cached(32)
def partitions(reading: Reading, topic: Scope) -> list[int]:
    return [lane.partition for lane in history(reading).lanes[topic.lanes]]


def partition(reading: Reading, topic: Scope, number: int) -> Scope:
    index = partitions(reading, topic).index(number)
    return Scope(name=f"{topic.name}-{number}", first=topic.first + index, count=1)


@cached(64)
def batch_facts(reading: Reading, scope: Scope) -> tuple[BatchFact, ...]:
    return facts(history(reading), scope.lanes)


@cached(64)
def batch_charts(reading: Reading, scope: Scope, colours: Palette) -> tuple[Any, Any, Any]:
    batch_rows = batch_facts(reading, scope)
    return (
        charts.offsets(batch_rows, colours, scope.name, lanes=scope.count),
        charts.records(batch_rows, colours),
        charts.intervals(batch_rows, colours),
    )


@cached(16)
def moved_between(reading: Reading, first: int, second: int) -> list[Moved]:
    return moved(history(reading), first, second)


def note(fact: BatchFact) -> str:
    said = []
    if fact.read.regressions:
        said.append(f"! goes back in {wording.many(fact.read.regressions, 'partition')}")
    if fact.end is None:
        said.append("? its offset file gives no Kafka offsets")
    elif fact.since is None and not fact.read.at_all:
        said.append("? began before the retained history")
    elif fact.read.without_start:
        least = "at least: " if fact.read.at_all else "? "
        said.append(f"{least}{wording.many(fact.read.without_start, 'partition')} without a known beginning")
    if fact.together > 1:
        said.append(f"{fact.together:,} batch ids together")
    return "; ".join(said)


_BATCHES: Final[Columns[BatchFact]] = (
    Column("batch", lambda fact: fact.batch.id, 64),
    Column("state", lambda fact: _COMMITTED if fact.batch.committed else _PLANNED, 110),
    Column("records", lambda fact: fact.read.records if fact.read.at_all else None),
    Column("end offset", lambda fact: fact.end),
    Column("planned at (UTC)", lambda fact: Time(fact.batch.timestamp_ms), 196),
    Column("since the one before", lambda fact: "–" if fact.since is None else wording.duration(fact.interval_ms), 140),
    Column("watermark", lambda fact: watermark(fact.batch.watermark_ms)),
    Column("note", note, 260, when=lambda facts: any(map(note, facts))),
)


_IN_SHARDS: Final[Columns[BatchFact]] = tuple(
    column for column in _BATCHES if column.name not in ("records", "end offset", "note")
)
"""Columns for shards, whose sequence numbers do not count records."""


def moved(history: History, first: int, second: int) -> list[Moved]:
    """Return where every partition ends in two batches; those that moved most first.

    Args:
        history: The batches.
        first: The row of one batch in it.
        second: The row of the other.
    """
    a, b = (
        [int(end) if ok else None for end, ok in zip(history.ends[row + 1], history.known[row + 1], strict=True)]
        for row in (first, second)
    )
    rows = [
        Moved(lane=lane, first=start, second=two)
        for lane, start, two in zip(history.lanes, a, b, strict=True)
        if start is not None or two is not None
    ]
    return sorted(rows, key=lambda row: (row.moved is not None, -abs(row.moved or 0)))


def changed_pairs(first: Sequence[tuple[str, str]], second: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return the recorded configuration that differs between two batches; an absent value is `(not set)`."""
    before, after = dict(first), dict(second)
    return [
        (key, before.get(key, "(not set)"), after.get(key, "(not set)"))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]
