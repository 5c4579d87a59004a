from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise import files, wording
from offsetwise.console.answers import CachedAnswer
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, table
from offsetwise.console.widgets.escaping import markdown, plain
from offsetwise.console.widgets.shards import SHARDS, Shards, in_shards, several
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.engines.engine import CheckpointReading
from offsetwise.engines.registry import engine_of
from offsetwise.findings import severity_of
from offsetwise.model import Checkpoint, CheckpointSource, MarkedPosition, Problem, SourcePosition
from offsetwise.ports.stream import is_compared, stream_of
from offsetwise.wording import many, verdicts
from offsetwise.wording.verdicts import Tone

_RAW_CHARACTERS: Final = 4_000
_STARTS = {
    "earliest": "earliest record",
    "latest": "latest record",
    "committed": "the group's committed offset",
    "initializer": "as the job's code says",
    "none": "nowhere: no reader keeps it",
}
Reading = CachedAnswer[CheckpointReading]
PAIRS: Final[Columns[tuple[str, str]]] = (
    Column("configuration", lambda pair: pair[0]),
    Column("value", lambda pair: pair[1]),
)
"""Columns of the recorded configuration."""


Resumed = tuple[str, SourcePosition | MarkedPosition]
"""A source's id, and where reading resumes in one of its partitions."""


@st.fragment
def draw(reading: Reading) -> None:
    blocks.section("Sources")
    with guard.block("sources"):
        shown = reading.value.checkpoint
        if not shown.sources:
            blocks.empty("No source is recorded.", "A query records its sources when it plans its first batch.")
            return
        table.show(_sources(shown), shown.sources, alt=f"{many(len(shown.sources), 'source')} in plan order.")
        for source in shown.sources:
            if source.raw is not None:
                st.markdown(f"Source **{markdown(source.id)}** is not Kafka. Its offset, as it is:")
                st.code(plain(source.raw[:_RAW_CHARACTERS]), language=None, wrap_lines=True)
        shards = Shards(shown)
        if shards:
            with st.expander(f"Where reading continues in {many(len(shards), 'shard')}", expanded=True):
                table.paged(SHARDS, shards, "shard-rows", alt="Where reading continues, by shard.", missing="–")
                with st.container(horizontal=True):
                    downloads.rows("shards", "shards", lambda: table.frame(SHARDS, shards))
        rows, columns = resumed(shown), resumes(shown)
        if rows:
            with st.expander(f"Where reading continues in {many(len(rows), 'partition')}"):
                table.paged(columns, rows, "position-rows", alt="The next record to read, by partition.", missing="–")
                with st.container(horizontal=True):
                    downloads.rows("positions", "positions", lambda: table.frame(columns, rows))


def tone(problem: Problem) -> Tone:
    return verdicts.SEVERITY[severity_of(problem.code)].tone


def restart_tone(checkpoint: Checkpoint) -> Tone:
    tones = {tone(problem) for problem in checkpoint.problems}
    worst = next((candidate for candidate in (Tone.WRONG, Tone.CAREFUL) if candidate in tones), None)
    if worst is not None:
        return worst
    known = any(source.positions or source.shards for source in checkpoint.sources)
    return Tone.RIGHT if known else Tone.UNKNOWN


def watermark(milliseconds: int | None) -> str:
    """Format a watermark; Spark writes 0 until there is one.

    >>> watermark(0), watermark(None), watermark(1_740_989_773_501)
    ('none yet', '?', '2025-03-03 08:16:13.501 UTC')
    """
    return "none yet" if milliseconds == 0 else wording.clock(milliseconds, milliseconds=True)


def _sources(checkpoint: Checkpoint) -> Columns[CheckpointSource]:
    planned = engine_of(checkpoint.engine).plans_batches
    return (
        Column("source", lambda source: source.id),
        Column("kind", _kind),
        Column("streams" if in_shards(checkpoint) else "topics", _topics),
        Column(
            "shards" if in_shards(checkpoint) else "partitions",
            lambda source: len(source.shards or source.positions) + len(source.marked) if _kafka(source) else None,
        ),
        Column(
            "planned ahead", lambda source: _ahead(source, checkpoint.details.progress.again), when=lambda _: planned
        ),
    )


def resumes(checkpoint: Checkpoint) -> Columns[Resumed]:
    """Return the columns of where reading resumes; `planned until` only for an engine that plans batches."""
    planned = engine_of(checkpoint.engine).plans_batches
    return (
        Column("topic", lambda row: row[1].topic),
        table.partition(lambda row: row[1].partition),
        Column("next record", lambda row: row[1].offset if isinstance(row[1], SourcePosition) else None),
        Column(
            "planned until",
            lambda row: row[1].planned_offset if isinstance(row[1], SourcePosition) else None,
            when=lambda _: planned,
        ),
        Column(
            "starts at",
            lambda row: _STARTS[row[1].starts_at] if isinstance(row[1], MarkedPosition) else "",
            when=lambda rows: any(isinstance(position, MarkedPosition) for _, position in rows),
        ),
        Column("source", lambda row: row[0], when=lambda rows: several(source for source, _ in rows)),
    )


def resumed(checkpoint: Checkpoint) -> list[Resumed]:
    """Return where reading resumes, by topic and partition; partitions without an offset come last."""
    positions = [(source.id, position) for source in checkpoint.sources for position in source.positions]
    marked = [(source.id, position) for source in checkpoint.sources for position in source.marked]
    return [*sorted(positions, key=_topic_partition), *sorted(marked, key=_topic_partition)]


def _topic_partition(row: Resumed) -> tuple[str, int, str]:
    source, position = row
    return position.topic, position.partition, source


def _kafka(source: CheckpointSource) -> bool:
    return stream_of(source.kind) is not None


def _topics(source: CheckpointSource) -> int | None:
    if not _kafka(source):
        return None
    if source.shards:
        return len({shard.stream for shard in source.shards})
    return len({position.topic for position in source.positions} | {position.topic for position in source.marked})


def _ahead(source: CheckpointSource, reruns: int | None) -> int | None:
    if reruns is None and is_compared(source.kind):
        return 0
    planned = [
        position.planned_offset - position.offset
        for position in source.positions
        if position.planned_offset is not None
    ]
    known = [count for count in planned if count is not None]
    return sum(known) if known and len(known) == len(planned) else None


def checkpoint_file(reading: Reading) -> bytes:
    return files.dump(reading.value.checkpoint, severities=True).encode()


def _kind(source: CheckpointSource) -> str:
    stream = stream_of(source.kind)
    return "not Kafka: shown as it is" if stream is None else stream.kinds[source.kind]
