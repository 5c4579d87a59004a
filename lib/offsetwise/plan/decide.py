"""The start of each partition: a translated offset, or a person's decision; never anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.findings.logs import partition_missing
from offsetwise.findings.target_position import (
    below_log_start,
    native_below,
    no_commit,
    no_position,
    not_yet_mirrored,
    pending_batch_differs,
    replay_not_tolerated,
    untranslated,
)
from offsetwise.model import (
    AnyPosition,
    Comparison,
    Exactness,
    IsolationLevel,
    Method,
    OffsetReset,
    Override,
    PartitionComparison,
    PartitionState,
    PlannedPosition,
    Problem,
    Proof,
    Snapshot,
    Start,
    TopicPartition,
)
from offsetwise.plan.moving import rewinding_of
from offsetwise.plan.refusals import DECIDE, ONLY_ITS_END, skip
from offsetwise.plan.request import DraftRequest, StartChoice, Unset
from offsetwise.position import needs_log, of_one_stream, offset_of, offset_or_none
from offsetwise.wording import many, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    job: JobTraits
    isolation: IsolationLevel
    new: Snapshot
    logs: Mapping[TopicPartition, PartitionState]
    """The partitions of the new cluster."""
    overrides: Mapping[TopicPartition, Override]
    starts: Mapping[str, StartChoice]
    begins_by_setting: bool
    """Whether the job begins by a setting of its client where it has no position: a group, or a positions file."""
    unset: Unset | None
    """What to do for partitions without a position."""
    keeps_pending: bool
    """Whether the pending batch is written as well, so that both its ends must be proven."""
    passed: Mapping[tuple[str, str, int], int]
    """Offsets that are read again when the job goes back to an earlier batch, by source, topic and partition."""

    def ends(self, topic: str, partition: int) -> tuple[AnyPosition, AnyPosition] | None:
        """Return the log start and end on the new cluster; None if the log was not read."""
        state = self.logs.get(TopicPartition(topic, partition))
        if state is None:
            return None
        end = state.log.end(self.isolation)
        return None if state.log_start is None or end is None else (state.log_start, end)


def grounds_of(
    comparison: Comparison,
    isolation: IsolationLevel,
    job: JobTraits,
    request: DraftRequest,
    *,
    keeps_pending: bool,
) -> Grounds:
    """Collect the inputs that positions are decided on.

    Raises:
        PlanError: A decision names a partition or topic that is not compared, names one twice, or has no reason.
    """
    _, new = comparison.snapshots
    rows = {row.topic_partition: row for row in comparison.partitions}
    topics = {row.topic for row in comparison.partitions}
    overrides: dict[TopicPartition, Override] = {}
    for key, override in request.overrides:
        _check_decision(str(key), known=key in rows, twice=key in overrides, reason=override.reason)
        _check_stream(rows[key], override.offset)
        overrides[key] = override
    starts: dict[str, StartChoice] = {}
    for choice in request.starts:
        _check_decision(choice.topic, known=choice.topic in topics, twice=choice.topic in starts, reason=choice.reason)
        starts[choice.topic] = choice
    return Grounds(
        job=job,
        isolation=isolation,
        new=new,
        logs=new.partitions(),
        overrides=overrides,
        starts=starts,
        begins_by_setting=comparison.begins_by_setting,
        unset=request.unset,
        keeps_pending=keeps_pending,
        passed={} if request.rewind_to is None else dict(_passed(comparison)),
    )


def decide(row: PartitionComparison, on: Grounds) -> tuple[PlannedPosition | None, tuple[Problem, ...]]:
    """Return the planned position of a partition, or None, and the objections to it."""
    if is_left_unset(row, on):
        return None, ()
    decided, reason = _decided(row, on)
    if reason is not None:
        return None, (reason,)
    if decided is None:
        position = _new_partition(row, on) if row.old_offset is None else _translated(row, on)
        objections = tuple(_objections(row, on))
    else:
        start, override = decided
        position = _overridden(row, start, override, on)
        objections = tuple(_against_pending(row, override.offset)) if on.keeps_pending else ()
    if position is None:
        return None, objections
    return position, (*objections, *_outside(position, on))


def is_left_unset(row: PartitionComparison, on: Grounds) -> bool:
    decided = row.topic_partition in on.overrides or row.topic in on.starts
    return on.begins_by_setting and row.old_offset is None and on.unset is Unset.LEAVE and not decided


def _check_decision(subject: str, *, known: bool, twice: bool, reason: str) -> None:
    if not known or twice:
        expected, result = ("it once", "it twice") if twice else ("a partition of the comparison", "none of that name")
        raise PlanError(
            f"The decision about {subject}: expected {expected}, found {result}. Nothing was written.",
            fix="Name partitions as topic:partition, with the topic's name on the old cluster, each once.",
        )
    if not reason.strip():
        raise PlanError(
            f"The decision about {subject}: expected a written reason, found none. Nothing was written.",
            fix="Say with --reason why this offset is right.",
        )


def _check_stream(row: PartitionComparison, offset: AnyPosition) -> None:
    known = row.place_there
    if not of_one_stream(known, offset):
        raise PlanError(
            f"The decision about {row.topic_partition}: expected a position as its stream has them, such as "
            f"{number(known)}, found {number(offset)}. Nothing was written.",
            fix="Write the position as `inspect` and `compare` show those of the partition.",
        )


def _passed(comparison: Comparison) -> Iterator[tuple[tuple[str, str, int], int]]:
    checkpoint, rewinding = comparison.checkpoint, rewinding_of(comparison.engine)
    reached = {} if checkpoint is None or rewinding is None else rewinding.read_to(checkpoint)
    for row in comparison.partitions:
        key = (row.source, row.topic, row.partition)
        if row.old_offset is not None and key in reached:
            yield key, reached[key] - offset_of(row.old_offset)


def _decided(row: PartitionComparison, on: Grounds) -> tuple[tuple[Start, Override] | None, Problem | None]:
    key = row.topic_partition
    if key in on.overrides:
        return (Start.SPECIFIC, on.overrides[key]), None
    choice = on.starts.get(row.topic)
    if choice is None:
        return None, None
    offset, missing = _chosen(row, choice, on)
    if offset is None:
        return None, untranslated.problem(f"{key}: {missing}", fix=DECIDE)
    return (choice.start, Override(offset=offset, reason=choice.reason, by=choice.by)), None


def _chosen(row: PartitionComparison, choice: StartChoice, on: Grounds) -> tuple[AnyPosition | None, str]:
    ends = on.ends(row.new_topic, row.partition)
    match choice.start:
        case Start.EARLIEST:
            return (None if ends is None else ends[0]), "the start of its new log is not known."
        case Start.LATEST:
            return (None if ends is None else ends[1]), "the end of its new log is not known."
        case Start.TIMESTAMP:
            # The end of the log would skip records that are written until the job starts, so it is never a fallback.
            return dict(choice.looked_up).get(row.partition), "no record on the new cluster is that young."
        case Start.GROUP:
            group = on.new.group(choice.group)
            offsets = (
                group_offset
                for group_offset in (() if group is None else group.offsets)
                if group_offset.topic == row.new_topic
            )
            offset = next(
                (group_offset.offset for group_offset in offsets if group_offset.partition == row.partition), None
            )
            return offset, f"group {choice.group!r} has committed nothing for it on the new cluster."
        case _:
            return None, f"{choice.start} cannot be chosen as the start of a whole topic."


def _translated(row: PartitionComparison, on: Grounds) -> PlannedPosition | None:
    if row.new_offset is None:
        return None
    again = on.passed.get((row.source, row.topic, row.partition), 0)
    return _position(
        row,
        on,
        new_offset=row.new_offset,
        start=Start.TRANSLATED,
        replay=None if row.replay is None else row.replay + again,
        skip=row.skip,
    )


def _new_partition(row: PartitionComparison, on: Grounds) -> PlannedPosition | None:
    ends = on.ends(row.new_topic, row.partition)
    if ends is None or (on.begins_by_setting and not on.job.states_reset) or no_position.code in row.findings:
        return None
    if on.begins_by_setting and on.job.auto_offset_reset is OffsetReset.LATEST:
        below = offset_of(ends[1]) - offset_of(ends[0])
        return _position(
            row, on, new_offset=ends[1], start=Start.LATEST, method=Method.NONE, replay=0, skip=below, proof=False
        )
    # "earliest" stays correct when the log start moves.
    target_offset = row.new_offset if offset_or_none(ends[0]) is None else ends[0]
    if target_offset is None:
        return None
    # Nothing of the partition was ever read, so nothing is read twice; records lost to retention cannot be counted.
    skip = 0 if ends[0] == 0 else None
    return _position(
        row,
        on,
        new_offset=target_offset,
        start=Start.EARLIEST,
        method=Method.EARLIEST,
        replay=0,
        skip=skip,
        proof=False,
    )


def _overridden(row: PartitionComparison, start: Start, override: Override, on: Grounds) -> PlannedPosition:
    proven_offset = row.new_offset if row.exactness.proven else None
    same = proven_offset == override.offset
    # Differences of offsets are upper bounds of record counts, because a log may have gaps.
    replay = None if proven_offset is None else _more(row.replay, proven_offset - override.offset)
    skip = None if proven_offset is None else _more(row.skip, override.offset - proven_offset)
    return _position(
        row,
        on,
        new_offset=override.offset,
        start=start,
        method=row.method if same else Method.NONE,
        exactness=row.exactness if same else Exactness.UNKNOWN,
        bounds=row.bounds if same else (override.offset, override.offset),
        replay=row.replay if same else replay,
        skip=row.skip if same else skip,
        override=override,
    )


def _more(counted: int | None, distance: int | None) -> int | None:
    return None if distance is None else (counted or 0) + max(0, distance)


def _position(
    row: PartitionComparison,
    on: Grounds,
    *,
    new_offset: AnyPosition,
    start: Start,
    method: Method | None = None,
    exactness: Exactness | None = None,
    bounds: tuple[AnyPosition | None, AnyPosition | None] | None = None,
    replay: int | None,
    skip: int | None,
    override: Override | None = None,
    proof: bool = True,
) -> PlannedPosition:
    begin = tuple(replace(point, new=new_offset) for point in row.restart[:1])
    return PlannedPosition(
        source=row.source,
        topic=row.topic,
        partition=row.partition,
        old_offset=row.old_offset,
        new_topic=row.new_topic,
        new_offset=new_offset,
        start=start,
        method=row.method if method is None else method,
        exactness=row.exactness if exactness is None else exactness,
        restart=(*begin, *(row.restart[1:] if on.keeps_pending else ())),
        bounds=row.bounds if bounds is None else bounds,
        replay=replay,
        skip=skip,
        foreign_below=row.foreign_below,
        counted=row.counted and override is None,
        old=row.old,
        new=row.new,
        raw=row.raw,
        proof=Proof.of(row.evidence, row.old_offset, row.new_offset) if proof else None,
        end_proof=_end_proof(row) if on.keeps_pending else None,
        override=override,
        reason=row.evidence.reason if override is None else f"Decided by {override.by}: {override.reason}",
        aggregate=row.aggregate if new_offset == row.new_offset else None,
    )


def _end_proof(row: PartitionComparison) -> Proof | None:
    if len(row.restart) < 2 or row.end_evidence is None:
        return None
    return Proof.of(row.end_evidence, row.restart[-1].old, row.restart[-1].new)


def _objections(row: PartitionComparison, on: Grounds) -> Iterator[Problem]:
    """Yield why the translated position must not be used unless a person decides."""
    name = str(row.topic_partition)
    if row.old_offset is None:
        if on.ends(row.new_topic, row.partition) is None:
            yield partition_missing.problem(f"{name}: the new cluster did not say where its log starts.")
        elif on.begins_by_setting and not on.job.states_reset:
            yield no_commit.problem(f"{name}: {row.evidence.reason}")
        return
    if row.new_offset is None or row.exactness in (Exactness.UNKNOWN, Exactness.CLAIMED):
        word = "has no known position" if row.new_offset is None else f"is only claimed to be {row.new_offset:,}"
        why = row.evidence.reason or "no reason was given."
        yield untranslated.problem(f"{name}: {row.old_offset:,} {word}. {why}", fix=DECIDE)
        return
    tolerated = on.job.tolerates_replay is True
    if not tolerated and row.exactness is Exactness.BOUNDED:
        count = "an unknown number of records" if row.replay is None else many(row.replay, "record")
        yield replay_not_tolerated.problem(
            f"{name}: {row.new_offset:,} is the safe end of its bounds and may read up to {count} twice.",
        )
    elif not tolerated and row.replay:
        yield replay_not_tolerated.problem(
            f"{name}: {row.new_offset:,} would read up to {many(row.replay, 'record')} twice.",
        )
    yield from skip(row)
    if row.foreign_below:
        others = many(row.foreign_below, "record")
        yield native_below.problem(f"{name}: {others} of other writers lie below the position.")
    if on.keeps_pending:
        yield from _against_pending(row, row.new_offset)


def _against_pending(row: PartitionComparison, start: AnyPosition) -> Iterator[Problem]:
    """Yield why the pending batch would not rerun with the same records: both its ends must be proven."""
    if len(row.restart) < 2:
        return
    name, end = str(row.topic_partition), row.restart[-1]
    if end.new is None:
        of = f"the end of pending batch {end.batch}"
        message = f"{name}: {end.old:,}, {of}, has no known position on the new cluster."
    elif row.new_offset != start:
        message = f"{name}: batch {end.batch} is pending, and would hold other records if it started at {start:,}."
    elif row.pending_equal is False:
        message = f"{name}: pending batch {end.batch} holds other records between its translated ends."
    elif row.pending_equal is None:
        message = f"{name}: it is not known whether pending batch {end.batch} holds the same records on both clusters."
    elif start > end.new:
        message = f"{name}: pending batch {end.batch} would end at {end.new:,}, before its start {start:,}."
    else:
        return
    fix = "Let the pending batch commit on the old cluster: start the job there and stop it after the batch."
    yield pending_batch_differs.problem(message, fix=fix)


def _outside(position: PlannedPosition, on: Grounds) -> Iterator[Problem]:
    """Yield why a position is outside [new log start, new log end]. Positions are never moved into the range."""
    name, ends = str(position.new_topic_partition), on.ends(position.new_topic, position.partition)
    if ends is None:
        if needs_log(position.new_offset):
            message = f"{name}: the new cluster did not give its log's start and end."
            fix = ONLY_ITS_END if offset_or_none(position.new_offset) is None else ""
            yield partition_missing.problem(message, fix=fix)
        return
    start, end = ends
    for new_position in dict.fromkeys((position.new_offset, *(p.new for p in position.restart if p.new is not None))):
        if new_position < start:
            yield below_log_start.problem(f"{name}: {new_position:,} lies below the new log's start, {start:,}.")
        elif new_position > end:
            yield not_yet_mirrored.problem(f"{name}: {new_position:,} lies past the new log's end, {end:,}.")
