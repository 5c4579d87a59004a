"""The positions of a restart, source by source, from the batch it starts after and the initial offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.digits import whole_number
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.findings.target_position import new_partition
from offsetwise.model import (
    CheckpointSource,
    Problem,
    ShardPosition,
    SourcePosition,
    TopicPartition,
    offsets_by_partition,
)
from offsetwise.plugins.spark.engine.findings import checkpoint_polluted, partitions_left, pending_batch, topic_dropped
from offsetwise.plugins.spark.engine.initial_offsets import InitialOffsets
from offsetwise.plugins.spark.engine.offset_log import Lines, SourceOffset
from offsetwise.plugins.spark.engine.releases.findings import repartition_unfinished
from offsetwise.plugins.spark.engine.releases.refusals import (
    Heads,
    fails_check,
    log_version,
    unfinished_repartition,
)
from offsetwise.plugins.spark.engine.restart import Restart, damaged, stale_checksum
from offsetwise.wording import first_of, many

SHOWN_PARTITIONS: Final = 4
_NOT_RUN: Final = frozenset({checkpoint_polluted.code, topic_dropped.code, repartition_unfinished.code})
"""Codes of problems with which a pending batch does not run as it was planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStart:
    """What is known of the next start beside its positions."""

    initial_files: tuple[str, ...] = ()
    """The `sources/<id>/0` files that positions were taken from."""
    unplanned: bool = False
    """Whether the file of the pending batch cannot be read."""
    runs_again: bool = False
    """Whether the pending batch runs again as it was planned: no file that its start needs is lost or damaged."""


def resolve_positions(
    restart: Restart, heads: Heads, lines: Mapping[int, Lines], initial: InitialOffsets, *, startable: bool = True
) -> tuple[tuple[CheckpointSource, ...], tuple[Problem, ...], NextStart]:
    """Return every source with the positions a restart uses, what is wrong, and what else is known of the start.

    What cannot be relied on is left out.

    Args:
        restart: What the ids of the batches say about the next start.
        heads: The heads of the offset files that were read, by batch.
        lines: Their lines, by batch.
        initial: The content of `sources/<id>/0`.
        startable: Whether Spark can read the other files that a start needs.
    """
    last, start, previous = (
        None if batch is None else lines.get(batch)
        for batch in (restart.last_planned, restart.starts_after, restart.previous)
    )
    planned = last if restart.reruns is not None else None
    reference = last or start
    if reference is None:
        if restart.last_planned is None and restart.known:
            return _from_initial_alone(initial)
        return _without_positions(initial), (), NextStart()
    problems = _shape_problems(restart, heads, lines, initial)
    checksums: list[Problem] = []
    usable = not problems and restart.known and (restart.from_initial or start is not None)
    starts, ends, earlier = start or {}, planned or {}, previous or {}
    kafka = {*initial.offsets, *(name for of in lines.values() for name, line in of.items() if line.is_kafka)}
    sources: list[CheckpointSource] = []
    used: list[str] = []
    begun: list[tuple[TopicPartition, int]] = []
    for index, name in enumerate(reference):
        is_kafka, first = name in kafka, initial.offsets.get(name)
        before = _not_void(starts.get(name), restart.starts_after, lines)
        end = _not_void(ends.get(name), restart.reruns, lines)
        begin = first if before is None or before.kind is None else before
        for of_batch, batch in ((before, restart.starts_after), (end, restart.reruns)):
            problems += [] if of_batch is None else _line_problems(of_batch, batch, kafka=is_kafka)
        if usable and begin is first:
            more, stale = _initial_problems(name, initial, kafka=is_kafka)
            problems += more
            checksums += stale
            used += [f"sources/{name}/0"] if first is not None else []
        read = begin if usable and begin is not None and begin.damage is None else None
        sources.append(_source(name, index, read, end, kafka=is_kafka))
        begun += [] if read is None or end is None or not is_kafka else _begun(read, end)
        problems += _backwards(sources[-1], earlier.get(name), restart)
        problems += partitions_left(name, lines, restart, begin)
    is_whole = all(problem.code != checkpoint_damaged.code for problem in problems)
    again = startable and usable and planned is not None and is_whole
    problems += [*checksums, *unfinished_repartition(restart, heads)]
    may_commit = again and _NOT_RUN.isdisjoint(problem.code for problem in problems)
    problems += [_new_partition(at, end, may_commit=may_commit) for at, end in begun]
    if may_commit and restart.reruns is not None:
        problems.append(_pending(restart.reruns, tuple(sources), unchecked=fails_check(restart, heads)))
    problems += log_version(restart, heads)
    lost = restart.reruns is not None and planned is None
    return tuple(sources), tuple(problems), NextStart(initial_files=tuple(used), unplanned=lost, runs_again=again)


def _not_void(line: SourceOffset | None, batch: int | None, lines: Mapping[int, Lines]) -> SourceOffset | None:
    """Return the line of a source; as damaged if it has no offset although an earlier batch has one.

    Spark writes that a source has no offset only before its first one.
    """
    if line is None or batch is None or line.kind is not None:
        return line
    had = [
        number
        for number, of_batch in lines.items()
        if number < batch and line.id in of_batch and of_batch[line.id].kind is not None
    ]
    message = f"no offset stands there, though offsets/{max(had, default=batch)} has one of this source"
    return replace(line, kind="other", damage=message) if had else line


def restart_sentence(
    restart: Restart, start: NextStart, sources: Sequence[CheckpointSource], problems: Sequence[Problem]
) -> str:
    positions = _positions_text(sources)
    unread = _unread([source.id for source in sources if source.raw is not None])
    if not restart.known or not (positions or unread):
        reason = next(
            (problem.message for problem in problems if problem.code == checkpoint_damaged.code),
            "no position is recorded.",
        )
        return f"Where the job restarts is unknown: {reason}"
    if restart.last_planned is None:
        said = "No batch has been planned: batch 0 starts at the initial offsets" + (
            f", {positions}" if positions else ""
        )
    elif restart.missing:
        said = f"Spark does not start: batch {restart.missing[-1]} is lost. Batch {restart.starts_after} ended"
        said += f" at {positions}" if positions else ""
    elif restart.reruns is None:
        following = f"batch {restart.last_planned + 1} " + (f"starts at {positions}" if positions else "is the next")
        said = f"Batch {restart.last_planned} is committed: {following}"
    else:
        first = " from the initial offsets" if restart.from_initial else ""
        lacks = any(problem.code == topic_dropped.code for problem in problems)
        then = " and lacks partitions: Spark does not run it" if lacks else ": it runs again"
        if any(problem.code == repartition_unfinished.code for problem in problems):
            then = ", and repartitions the state: Spark does not start"
        if start.unplanned:
            then = ", and its file is damaged: Spark does not start"
        elif not start.runs_again:
            then = ", and the checkpoint is damaged: it does not run again as planned"
        said = f"Batch {restart.reruns} is planned and not committed{then}{first}"
        said += f", {positions}" if positions else ""
    return f"{said}.{unread}"


def _source(
    source_id: str, index: int, begin: SourceOffset | None, planned: SourceOffset | None, *, kafka: bool
) -> CheckpointSource:
    """Return a source with its positions: from where reading begins, if that can be relied on, and to where."""
    source = CheckpointSource(index=index, id=source_id, kind="kafka" if kafka else "other")
    if begin is None or not kafka:
        return source if begin is None else replace(source, raw=begin.raw)
    ends = {} if planned is None else offsets_by_partition(planned.offsets)
    positions = tuple(
        SourcePosition(topic=at.topic, partition=at.partition, offset=offset, planned_offset=ends.get(at))
        for at, offset in offsets_by_partition(begin.offsets).items()
    )
    return replace(source, positions=positions)


def _begun(begin: SourceOffset, planned: SourceOffset) -> list[tuple[TopicPartition, int]]:
    """Return what the pending batch begins without a start in the batch before, and where it ends that."""
    negative = (TopicPartition(topic, partition) for topic, partition, _ in begin.negative)
    starts = {*offsets_by_partition(begin.offsets), *negative}
    return sorted((at, end) for at, end in offsets_by_partition(planned.offsets).items() if at not in starts)


def _shape_problems(
    restart: Restart, heads: Heads, lines: Mapping[int, Lines], initial: InitialOffsets
) -> list[Problem]:
    problems: list[Problem] = []
    pair = (restart.last_planned, restart.starts_after)
    read = [batch for batch in dict.fromkeys(pair) if batch is not None and batch in lines]
    if len(read) == 2:
        ids, before = ([*lines[batch]] for batch in read)
        version, version_before = (heads[batch].version for batch in read)
        if (version == 1 or version != version_before) and ids != before:
            problems.append(
                damaged(
                    f"The last two offset files name {len(before):,} and {len(ids):,} source(s), or name them "
                    "differently: a line was lost or added, and Spark fails on restart."
                )
            )
    if read and heads[read[0]].version == 1:
        count = len(lines[read[0]])
        numbered = [number for name in initial.folders if (number := whole_number(name)) is not None]
        if numbered and max(numbered) >= count:
            problems.append(
                damaged(
                    f"sources/{max(numbered)} exists, but the newest offset file has {count:,} source "
                    "line(s): lines were lost."
                )
            )
    return problems


def _line_problems(line: SourceOffset, batch: int | None, *, kafka: bool) -> list[Problem]:
    problems: list[Problem] = []
    where = f"offsets/{batch}, source {line.id}"
    if line.damage is not None:
        problems.append(damaged(f"{where} is garbled: {line.damage}. Its positions are left out."))
    elif kafka and line.kind == "other":
        problems.append(
            damaged(f"{where} is no Kafka offset, though the source is Kafka's: {(line.raw or '')[:60]!r}.")
        )
    if line.negative:
        problems.append(_negative(where, line))
    return problems


def _initial_problems(source_id: str, initial: InitialOffsets, *, kafka: bool) -> tuple[list[Problem], list[Problem]]:
    where, line = f"sources/{source_id}/0", initial.offsets.get(source_id)
    unreadable = initial.unreadable.get(source_id) or initial.unreadable.get("")
    if unreadable is not None:
        return [damaged(f"{where} cannot be read: {unreadable}")], []
    if line is None:
        named = [f"sources/{name}/0" for name in initial.offsets if whole_number(name) is None]
        return ([_no_initial(where, named)] if kafka else []), []
    problems: list[Problem] = []
    checksum = f"sources/{source_id}/.0.crc"
    if source_id in initial.stumbles:
        problems.append(damaged(f"{where}: {initial.stumbles[source_id]}."))
    if line.damage is not None:
        problems.append(damaged(f"{where} is garbled: {line.damage}. Its positions are left out."))
    if line.negative:
        problems.append(_negative(where, line))
    return problems, [stale_checksum(where, checksum)] if source_id in initial.stale else []


def _backwards(source: CheckpointSource, before: SourceOffset | None, restart: Restart) -> list[Problem]:
    """Return problems of positions that go backwards: numbers of one log followed by numbers of another."""
    if restart.reruns is not None:
        steps = [
            (position, position.offset, position.planned_offset)
            for position in source.positions
            if position.planned_offset is not None
        ]
        batch, state = restart.reruns, "which is planned and not committed"
    elif before is not None and restart.last_planned is not None:
        earlier = offsets_by_partition(before.offsets)
        pairs = ((position, earlier.get(position.topic_partition)) for position in source.positions)
        steps = [(position, start, position.offset) for position, start in pairs if start is not None]
        batch, state = restart.last_planned, "which is committed"
    else:
        return []
    backward = [(position, start, end) for position, start, end in steps if end < start]
    if not backward:
        return []
    source_position, start, end = backward[0]
    more = f" (and {many(len(backward) - 1, 'more partition')})" if len(backward) > 1 else ""
    return [
        checkpoint_polluted.problem(
            f"{source_position.topic_partition} goes back from {start:,} to {end:,} in batch {batch}, {state}{more}: "
            "the query was started against another log, such as the new cluster's.",
            fix=f"If batch {batch} is not meant, drop offsets/{batch} in a copy before anything else."
            if restart.reruns is not None
            else "Find out whether the topic was recreated or the job already ran against another cluster.",
        )
    ]


def _from_initial_alone(initial: InitialOffsets) -> tuple[tuple[CheckpointSource, ...], tuple[Problem, ...], NextStart]:
    sources: list[CheckpointSource] = []
    problems: list[Problem] = []
    used: list[str] = []
    for index, source_id in enumerate(initial.folders):
        offset = initial.offsets.get(source_id)
        begin = None if offset is None or offset.damage is not None else offset
        sources.append(_source(source_id, index, begin, None, kafka=offset is not None))
        more, checksums = _initial_problems(source_id, initial, kafka=offset is not None)
        problems += [*checksums, *more]
        used += [f"sources/{source_id}/0"] if offset is not None else []
    if not any(source.positions for source in sources):
        problems.append(_no_initial("the file of initial offsets in sources/"))
    return tuple(sources), tuple(problems), NextStart(initial_files=tuple(used))


def _without_positions(initial: InitialOffsets) -> tuple[CheckpointSource, ...]:
    return tuple(
        CheckpointSource(index=index, id=source_id, kind="kafka" if source_id in initial.offsets else "other")
        for index, source_id in enumerate(initial.folders)
    )


def _positions_text(sources: Sequence[CheckpointSource]) -> str:
    positions = [_position_text(position) for source in sources for position in source.positions]
    shards = [_shard(shard) for source in sources for shard in source.shards]
    shown = []
    for entries, what in ((positions, "more partition"), (shards, "more shard")):
        shown += entries[:SHOWN_PARTITIONS]
        if len(entries) > SHOWN_PARTITIONS:
            shown.append(f"and {many(len(entries) - SHOWN_PARTITIONS, what)}")
    return ", ".join(shown)


def _unread(named: Sequence[str]) -> str:
    if not named:
        return ""
    what = f"source {named[0]} starts" if len(named) == 1 else f"the sources {', '.join(named)} start"
    return f" Where {what} is not known from this checkpoint's lines: sources of its kind are not read."


def _position_text(position: SourcePosition) -> str:
    name = str(position.topic_partition)
    if position.planned_offset in (None, position.offset):
        return f"{name} at {position.offset:,}"
    return f"{name} from {position.offset:,} to {position.planned_offset:,}"


def _shard(at: ShardPosition) -> str:
    if at.planned_position in (None, at.position):
        return f"{at.shard} at {at.position}"
    return f"{at.shard} from {at.position} to {at.planned_position}"


def _pending(batch: int, sources: tuple[CheckpointSource, ...], *, unchecked: bool) -> Problem:
    positions = _positions_text(sources)
    where = f", {positions}" if positions else ""
    said = f"Batch {batch} is planned and not committed: it runs again on restart{where}. The sink may hold part of it."
    if unchecked:
        return pending_batch.problem(
            f'{said} Spark 4.2.0 fails with "None.get" before it: it looks for an unfinished repartition, for which '
            f"offsets/{batch - 1}, of version 2, lacks the number of shuffle partitions.",
            fix="Let it commit on the old cluster first: start the job there with "
            "spark.sql.streaming.checkUnfinishedRepartitionOnRestart=false, and stop it after the batch.",
        )
    return pending_batch.problem(
        said,
        fix="Let it commit on the old cluster first: start the job there, and stop it after the batch.",
    )


def _new_partition(at: TopicPartition, end: int, *, may_commit: bool) -> Problem:
    return new_partition.problem(
        f"{at} is planned up to {end:,} and has no start in the batch before: Spark starts it at "
        "the earliest record there is, and the checkpoint does not say which.",
        fix="Let the batch commit on the old cluster first, then inspect again."
        if may_commit
        else "Repair first what blocks, as Spark does not run the batch from this checkpoint; then inspect the copy.",
    )


def _negative(where: str, line: SourceOffset) -> Problem:
    topic, partition, number = line.negative[0]
    more = f", and {len(line.negative) - 1:,} more like it" if len(line.negative) > 1 else ""
    meaning = {-1: " (latest)", -2: " (earliest)"}.get(number, "")
    at = TopicPartition(topic, partition)
    return damaged(f"{where} has {number}{meaning} for {at}{more}: that is not a position, and it is left out.")


def _no_initial(where: str, named: Sequence[str] = ()) -> Problem:
    if named:
        return damaged(
            f"No batch is committed, and an offset log of version 1 does not tell which source began at the offsets of "
            f"{first_of(named, 3)}."
        )
    return damaged(
        f"No batch is committed and {where} is missing: Spark would choose the start again, from the job's "
        "startingOffsets."
    )
