"""Tables of the Checkpoint screen. Unknown numbers are missing, never 0; numbers that no int64 holds are text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from offsetwise import wording
from offsetwise.batches import BatchFact, History, Standing
from offsetwise.console import escaping
from offsetwise.model import Checkpoint, CheckpointSource, MarkedPosition, SourcePosition, StateStore
from offsetwise.model.state import StateRows
from offsetwise.sources.spark_offset_log import OffsetFile

_INT64_MAX = 2**63 - 1
_KINDS = {"kafka": "Kafka", "dynamic-kafka": "Kafka, several clusters"}
_STARTS = {
    "earliest": "earliest record",
    "latest": "latest record",
    "committed": "the group's committed offset",
    "initializer": "as the job's code says",
}


def integers(values: Sequence[int | None]) -> pd.Series[Any]:
    """Give a nullable column of integers; one of text where a sum has left int64."""
    if any(value is not None and abs(value) > _INT64_MAX for value in values):
        return pd.Series([wording.number(value) for value in values], dtype=object)
    return pd.Series(pd.array(list(values), dtype="Int64"))


def batch_table(facts: Sequence[BatchFact]) -> pd.DataFrame:
    """Give one row per batch, the newest first."""
    rows = list(reversed(facts))
    return _saying(
        "note",
        {
            "batch": integers([fact.batch.id for fact in rows]),
            "state": ["✓ committed" if fact.batch.committed else "◇ planned" for fact in rows],
            "records": integers([fact.read.records if fact.read.at_all else None for fact in rows]),
            "end offset": integers([fact.end for fact in rows]),
            "planned at (UTC)": [wording.moment(fact.batch.timestamp_ms) for fact in rows],
            "since the one before": [
                "–" if fact.since is None else wording.duration(fact.interval_ms) for fact in rows
            ],
            "watermark": [watermark(fact.batch.watermark_ms) for fact in rows],
            "note": [note(fact) for fact in rows],
        },
    )


def note(fact: BatchFact) -> str:
    """Say what the number of records leaves out."""
    said = []
    if fact.read.back:
        said.append(f"! goes back in {wording.many(fact.read.back, 'partition')}")
    if fact.end is None:
        said.append("? its offset file gives no Kafka offsets")
    elif fact.since is None and not fact.read.at_all:
        said.append("? began before the retained history")
    elif fact.read.unknown:
        least = "at least: " if fact.read.at_all else "? "
        said.append(f"{least}{wording.many(fact.read.unknown, 'partition')} without a known beginning")
    if fact.together > 1:
        said.append(f"{fact.together:,} batch ids together")
    return "; ".join(said)


def watermark(milliseconds: int | None) -> str:
    """Print a watermark; Spark writes 0 until there is one.

    >>> watermark(0), watermark(None), watermark(1_740_989_773_501)
    ('none yet', '?', '2025-03-03T08:16:13.501Z')
    """
    return "none yet" if milliseconds == 0 else wording.moment(milliseconds)


def step_table(history: History, at: Standing, places: Sequence[int], first: int) -> pd.DataFrame:
    """Give what stands behind the picture of a step: one row per drawn partition.

    Args:
        history: The batches.
        at: The standing of a range of lanes that begins at `first`.
        places: The lanes, counted within that range.
        first: See `at`.
    """
    starts = [int(at.start[place]) if at.start_known[place] else None for place in places]
    ends = [int(at.end[place]) if at.end_known[place] else None for place in places]
    lanes = [history.lanes[first + place] for place in places]
    return _saying(
        "source",
        {
            "topic": [escaping.cell(lane.topic) for lane in lanes],
            "p": integers([lane.partition for lane in lanes]),
            "resumes at": integers(starts),
            "planned until": integers(ends),
            "read again": integers([_less(end, start) for start, end in zip(starts, ends, strict=True)]),
            "source": [escaping.cell(lane.source) for lane in lanes],
        },
    )


def moved_table(history: History, first: int, second: int) -> pd.DataFrame:
    """Give where every partition ends in two batches, and how far it moved; those that moved most first.

    Args:
        history: The batches.
        first: The row of one batch in it.
        second: The row of the other.
    """
    a, b = first + 1, second + 1
    from_known, to_known = history.known[a], history.known[b]
    both = from_known & to_known
    table = _saying(
        "source",
        {
            "topic": [escaping.cell(lane.topic) for lane in history.lanes],
            "p": pd.array([lane.partition for lane in history.lanes], dtype="Int64"),
            "first end": pd.array(history.ends[a], dtype="Int64"),
            "second end": pd.array(history.ends[b], dtype="Int64"),
            "moved": pd.array(history.ends[b] - history.ends[a], dtype="Int64"),
            "source": [escaping.cell(lane.source) for lane in history.lanes],
        },
    )
    table.loc[~from_known, "first end"] = pd.NA
    table.loc[~to_known, "second end"] = pd.NA
    table.loc[~both, "moved"] = pd.NA
    shown: pd.DataFrame = table.loc[from_known | to_known]
    return shown.sort_values("moved", key=abs, ascending=False, kind="stable", na_position="first", ignore_index=True)


def file_table(parsed: OffsetFile) -> pd.DataFrame:
    """Give the Kafka offsets of one offset file, in the order of the file."""
    rows = [
        (one.topic, partition, offset, source.id)
        for source in parsed.sources
        for one in source.offsets
        for partition, offset in zip(one.partitions, one.offsets, strict=True)
    ]
    return _saying(
        "source",
        {
            "topic": [escaping.cell(topic) for topic, _, _, _ in rows],
            "p": integers([partition for _, partition, _, _ in rows]),
            "end offset": integers([offset for _, _, offset, _ in rows]),
            "source": [escaping.cell(source) for _, _, _, source in rows],
        },
    )


def source_table(checkpoint: Checkpoint) -> pd.DataFrame:
    """Give one row per source of the job; `planned ahead` only for an engine that plans batches."""
    sources = checkpoint.sources
    table = pd.DataFrame(
        {
            "source": [escaping.cell(one.id) for one in sources],
            "kind": [_KINDS.get(one.kind, "not Kafka: shown as it stands") for one in sources],
            "topics": integers([_topics(one) for one in sources]),
            "partitions": integers([len(one.positions) + len(one.marked) if _kafka(one) else None for one in sources]),
            "planned ahead": integers([_ahead(one, checkpoint.reruns_batch) for one in sources]),
        }
    )
    return table if checkpoint.saved is None else table.drop(columns="planned ahead")


def position_table(checkpoint: Checkpoint) -> pd.DataFrame:
    """Give where reading continues in every partition, in the order of the file; those without an offset come last.

    `planned until` is there for an engine that plans batches, `starts at` where a start is chosen by the job.
    """
    found = [(source, position) for source in checkpoint.sources for position in source.positions]
    marked = [(source, mark) for source in checkpoint.sources for mark in source.marked]
    partitions: list[SourcePosition | MarkedPosition] = [one for _, one in found]
    partitions += [one for _, one in marked]
    none = [None] * len(marked)
    columns: dict[str, Any] = {
        "topic": [escaping.cell(one.topic) for one in partitions],
        "p": integers([one.partition for one in partitions]),
        "next record": integers([*(position.offset for _, position in found), *none]),
    }
    if checkpoint.saved is None:
        columns["planned until"] = integers([*(position.planned_offset for _, position in found), *none])
    if marked:
        columns["starts at"] = [*[""] * len(found), *(_STARTS[mark.starts_at] for _, mark in marked)]
    return _saying("source", columns | {"source": [escaping.cell(source.id) for source, _ in (*found, *marked)]})


def pair_table(pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Give recorded configuration as a table."""
    return pd.DataFrame(
        {
            "configuration": [escaping.cell(key) for key, _ in pairs],
            "value": [escaping.cell(value) for _, value in pairs],
        }
    )


def changed_pairs(first: Sequence[tuple[str, str]], second: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Give the recorded configuration that differs between two batches; an absent one is `(not set)`."""
    before, after = dict(first), dict(second)
    keys = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    return pd.DataFrame(
        {
            "configuration": [escaping.cell(key) for key in keys],
            "in the first": [escaping.cell(before.get(key, "(not set)")) for key in keys],
            "in the second": [escaping.cell(after.get(key, "(not set)")) for key in keys],
        }
    )


def state_table(stores: Sequence[StateStore]) -> pd.DataFrame:
    """Give the size of every operator's state, from its files."""
    return pd.DataFrame(
        {
            "operator": integers([one.operator for one in stores]),
            "partitions": integers([one.partitions for one in stores]),
            "files": integers([one.files for one in stores]),
            "bytes": integers([one.size_bytes for one in stores]),
            "rows, by its files": integers([one.keys for one in stores]),
        }
    )


def rows_table(state: StateRows) -> pd.DataFrame:
    """Give the rows of every store, as Spark counted them."""
    return pd.DataFrame(
        {
            "operator": integers([one.operator for one in state.stores]),
            "name": [escaping.cell(one.operator_name) for one in state.stores],
            "store": [escaping.cell(one.store) for one in state.stores],
            "partitions": integers([one.partitions for one in state.stores]),
            "rows": integers([one.total for one in state.stores]),
        }
    )


def partition_rows_table(state: StateRows) -> pd.DataFrame:
    """Give the rows of every partition of every store that was counted; one without a row holds 0."""
    found = [
        (one, partition, dict(one.rows).get(partition, 0))
        for one in state.stores
        if one.problem is None
        for partition in range(one.partitions)
    ]
    return pd.DataFrame(
        {
            "operator": integers([one.operator for one, _, _ in found]),
            "store": [escaping.cell(one.store) for one, _, _ in found],
            "partition": integers([partition for _, partition, _ in found]),
            "rows": integers([count for _, _, count in found]),
        }
    )


def _saying(column: str, columns: dict[str, Any]) -> pd.DataFrame:
    """Make a table; one column is left out where it says nothing: no note, and no source but the first."""
    table = pd.DataFrame(columns)
    says = table[column].nunique() > 1 or bool(table[column].isin(("", "0")).sum() < len(table))
    return table if says else table.drop(columns=column)


def _less(end: int | None, start: int | None) -> int | None:
    return None if end is None or start is None else end - start


def _kafka(source: CheckpointSource) -> bool:
    return source.kind in _KINDS


def _topics(source: CheckpointSource) -> int | None:
    if not _kafka(source):
        return None
    return len({one.topic for one in source.positions} | {one.topic for one in source.marked})


def _ahead(source: CheckpointSource, reruns: int | None) -> int | None:
    if reruns is None and source.kind == "kafka":
        return 0
    planned = [one.planned_offset - one.offset for one in source.positions if one.planned_offset is not None]
    return sum(planned) if planned else None
