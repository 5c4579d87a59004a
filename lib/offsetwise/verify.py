"""What stands at the targets of a receipt now: before the job starts what was approved, then where the job began.

A checkpoint tells where its job began: the file of the batch that was written, and the first batch after it. A group
tells only where it stands now. What cannot be seen is UNKNOWN, never taken as right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol

from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import (
    SAVEPOINT_KINDS,
    Batch,
    BatchSource,
    Checkpoint,
    Cluster,
    PartitionState,
    Plan,
    PlannedPosition,
    Receipt,
    ReceiptStep,
    Snapshot,
    StepState,
    TargetKind,
    TopicPartition,
    Turnout,
    Verification,
    VerifiedPosition,
)
from offsetwise.plan.exports import for_flink, starting_offsets
from offsetwise.sources import kafka
from offsetwise.sources.flink_checkpoint import read_checkpoint as read_flink
from offsetwise.sources.flink_checkpoint import read_from as read_savepoint
from offsetwise.sources.held import HeldFolder
from offsetwise.sources.spark_folder import COPY_MARKER
from offsetwise.sources.spark_offset_log import GarbledError, parse_offsets
from offsetwise.sources.spark_reading import CheckpointReading, read_with_times
from offsetwise.sources.spark_restart import DAMAGED
from offsetwise.sources.storage import open_tree
from offsetwise.verify_flink import Seen, Stands, gone_on, not_of_this_job

_INITIAL: Final = -1
"""Stands where a batch would, for a job that begins at its initial offsets."""

Places = Mapping[tuple[str, int], int]
"""Offsets by topic and partition."""


class Eyes(Protocol):
    """What a verification reads, as it is now."""

    def checkpoint(self, uri: str) -> CheckpointReading:
        """Read a checkpoint.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def savepoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint or savepoint of Flink.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """Read files of a folder; one that cannot be read is left out.

        Raises:
            StorageError: The folder cannot be opened.
        """

    def new_cluster(self, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read the new cluster.

        Raises:
            ClusterError: It gave no answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEyes:
    """Reads what a migration names, inside its roots."""

    migration: Migration

    def checkpoint(self, uri: str) -> CheckpointReading:
        """Read a checkpoint; see `Eyes`."""
        return read_with_times(uri, roots=self._roots())

    def savepoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint or savepoint of Flink; see `Eyes`."""
        return read_flink(uri, roots=self._roots())

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """Read files of a folder; see `Eyes`."""
        read = open_tree(folder, roots=self._roots()).for_large_files().read_many(dict.fromkeys(paths))
        return {path: data for path, data in read.items() if isinstance(data, bytes)}

    def new_cluster(self, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read the new cluster; see `Eyes`."""
        return kafka.read_cluster(Cluster.NEW, self.migration.target, topics=topics, groups=groups, mirror=False)

    def _roots(self) -> tuple[str, ...]:
        return (*self.migration.checkpoint_roots, *self.migration.write_roots)


def verify(receipt: Receipt, eyes: Eyes, *, verified_at: str, checkpoint: str | None = None) -> Verification:
    """Hold what stands at every target against the plan of a receipt.

    Args:
        receipt: What was written.
        eyes: Reads everything anew.
        verified_at: When, ISO 8601, UTC.
        checkpoint: The checkpoint that the new job made, for a target that is no checkpoint itself (`startingOffsets`).
    """
    positions: list[VerifiedPosition] = []
    started = []
    for step in receipt.steps:
        seen = _look(receipt.plan, step, eyes, checkpoint)
        started.append(any(each.started for each in seen))
        positions += [
            VerifiedPosition(
                target=step.target,
                source=position.source,
                topic=position.new_topic,
                partition=position.partition,
                planned=position.new_offset,
                found=each.found,
                turnout=each.turnout,
                told=each.told,
            )
            for position, each in zip(receipt.plan.positions, seen, strict=True)
        ]
    return Verification(
        plan_digest=receipt.plan_digest,
        verified_at=verified_at,
        started=bool(started) and all(started),
        positions=tuple(positions),
    )


def decided(verification: Verification) -> bool:
    """Whether looking again can tell nothing new about where the job began."""
    turnouts = {each.turnout for each in verification.positions}
    return Turnout.DIFFERENT in turnouts or (verification.started and Turnout.UNKNOWN not in turnouts)


def exit_code_of(verification: Verification) -> int:
    """Give the exit code: 5 for anything DIFFERENT, else 1 for anything UNKNOWN.

    >>> exit_code_of(Verification(plan_digest="", verified_at="", started=False, positions=()))
    0
    """
    turnouts = {each.turnout for each in verification.positions}
    return 5 if Turnout.DIFFERENT in turnouts else 1 if Turnout.UNKNOWN in turnouts else 0


def _look(plan: Plan, step: ReceiptStep, eyes: Eyes, checkpoint: str | None) -> list[Seen]:
    if step.state is not StepState.DONE:
        return _all(plan, Turnout.UNKNOWN, f"{step.target} was not written: {step.told}")
    try:
        if step.target.kind is TargetKind.CONSUMER_GROUP:
            return [*_group(plan, step, eyes)]
        if step.target.kind is TargetKind.STARTING_OFFSETS:
            return _starting_offsets(plan, step, eyes, checkpoint)
        if step.target.kind in SAVEPOINT_KINDS:
            return _savepoint(plan, step, eyes, checkpoint)
        return _checkpoint(plan, step, eyes, step.place)
    except OffsetwiseError as error:
        return _all(plan, Turnout.UNKNOWN, error.problem)


# --------------------------------------------------------------------------- checkpoints


def _checkpoint(plan: Plan, step: ReceiptStep, eyes: Eyes, uri: str) -> list[Seen]:
    if step.target.kind is TargetKind.SPARK_CHECKPOINT and not _whole(uri, eyes):
        return _absent(plan, uri)
    reading = eyes.checkpoint(uri)
    fresh = step.target.kind in (TargetKind.SEEDED_CHECKPOINT, TargetKind.STARTING_OFFSETS)
    required = plan.requirements.checkpoint
    if not fresh and required is not None and reading.checkpoint.job_id != required.job_id:
        told = f"{uri} is of the query {reading.checkpoint.job_id}, expected {required.job_id}."
        return _all(plan, Turnout.DIFFERENT, told)
    batches = {batch.id: batch for batch in reading.checkpoint.batches}
    begins = _INITIAL if fresh else _begins(plan)
    later = [batch for batch in batches if batch > begins]
    changed = None if step.place != uri else _changed(step, eyes, gone_is_fine=bool(later))
    if changed is not None:
        return _all(plan, Turnout.DIFFERENT, changed)
    if begins == _INITIAL and not reading.initial:
        return _all(plan, Turnout.UNKNOWN, f"{uri} has no initial offsets, so the job has not begun there yet.")
    history = _History(
        begins=begins,
        start=_start(reading, batches.get(begins)) if begins in batches or begins == _INITIAL else None,
        batches=tuple(batches[batch] for batch in sorted(later)),
        uri=uri,
        problems=tuple(each.message for each in reading.checkpoint.problems if each.code == DAMAGED),
    )
    return [_position(position, history) for position in plan.positions]


def _start(reading: CheckpointReading, batch: Batch | None) -> dict[str, Places]:
    return _at(reading.initial if batch is None else batch.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    """What a checkpoint retains from where the job was to begin."""

    begins: int
    start: Mapping[str, Places] | None
    """By source id; None where the file is not retained any more."""
    batches: tuple[Batch, ...]
    """Those after it, ascending."""
    uri: str
    problems: tuple[str, ...]

    @property
    def where(self) -> str:
        """Name the file that the job begins from."""
        return "the initial offsets" if self.begins == _INITIAL else f"offsets/{self.begins}"


def _begins(plan: Plan) -> int:
    """Give the batch whose end is where the job goes on."""
    batches = {position.restart[0].batch for position in plan.positions if position.restart}
    known = {batch for batch in batches if batch is not None}
    return max(known, default=_INITIAL)


def _position(position: PlannedPosition, history: _History) -> Seen:
    key = (position.new_topic, position.partition)
    name = f"{position.new_topic}-{position.partition}"
    if history.start is None:
        if not history.batches:
            told = f"{name}: {history.where} of {history.uri} is not there, so nothing tells where the job would begin."
            return Seen(found=None, turnout=Turnout.DIFFERENT, told=told)
        told = f"{name}: {history.where} is not retained any more, so where the job began cannot be seen."
        return Seen(found=_last(history, position, key), turnout=Turnout.UNKNOWN, told=told)
    start = _of(history.start, position.source, key)
    if start != position.new_offset:
        if start is None and history.problems:
            return Seen(found=None, turnout=Turnout.UNKNOWN, told=f"{name}: {history.problems[0]}")
        told = f"{name}: expected {position.new_offset} in {history.where}, found {_number(start)}."
        return Seen(found=start, turnout=Turnout.DIFFERENT, told=told)
    return _gone_on(position, key, history)


def _gone_on(position: PlannedPosition, key: tuple[str, int], history: _History) -> Seen:
    """Follow the job from the planned position; its first batch must begin there, so no batch may end before it."""
    name = f"{position.new_topic}-{position.partition}"
    pending = {point.batch: point.new for point in position.restart[1:]}
    at = position.new_offset
    committed: int | None = None
    for batch in history.batches:
        end = _of(_at(batch.sources), position.source, key)
        planned = pending.get(batch.id)
        if end is None and not batch.sources:
            told = f"{name}: offsets/{batch.id} cannot be read, so what the job did cannot be seen."
            return Seen(found=None, turnout=Turnout.UNKNOWN, told=told)
        if end is None:
            told = f"{name}: offsets/{batch.id} leaves this partition out, so the job does not read it from there."
            return Seen(found=None, turnout=Turnout.DIFFERENT, told=told)
        if end < at or (planned is not None and end != planned):
            wanted = f"at or after {at}" if planned is None else f"at {planned}"
            told = f"{name}: expected offsets/{batch.id} to end {wanted}, found {end}."
            return Seen(found=end, turnout=Turnout.DIFFERENT, told=told)
        if batch.committed:
            at, committed = end, batch.id
    if committed is None:
        told = f"{name}: {position.new_offset} stands there as planned; the job has not committed a batch since."
        return Seen(found=at, turnout=Turnout.CONFIRMED, told=told)
    if at == position.new_offset:
        told = f"{name}: the job began at {at} as planned and had nothing to read up to batch {committed}."
        return Seen(found=at, turnout=Turnout.CONFIRMED, told=told, started=True)
    told = f"{name}: the job began at exactly {position.new_offset} and has read up to {at} in batch {committed}."
    return Seen(found=at, turnout=Turnout.MOVED_ON, told=told, started=True)


def _last(history: _History, position: PlannedPosition, key: tuple[str, int]) -> int | None:
    return _of(_at(history.batches[-1].sources), position.source, key)


def _at(sources: tuple[BatchSource, ...]) -> dict[str, Places]:
    return {
        source.id: {
            (topic.topic, partition): offset
            for topic in source.offsets
            for partition, offset in zip(topic.partitions, topic.offsets, strict=True)
        }
        for source in sources
    }


def _of(sources: Mapping[str, Places], source: str, key: tuple[str, int]) -> int | None:
    """Give the offset of a partition in its source; a plan from a group names none, then any source that has it."""
    if source in sources:
        return sources[source].get(key)
    return next((places[key] for places in sources.values() if key in places), None) if not source else None


def _whole(uri: str, eyes: Eyes) -> bool:
    """Say whether a copy is whole: on an object store its marker, put last, tells."""
    return "://" not in uri or bool(eyes.files(uri, (COPY_MARKER,)))


def _absent(plan: Plan, uri: str) -> list[Seen]:
    return _all(plan, Turnout.UNKNOWN, f"{uri} lacks {COPY_MARKER}: it is no whole copy, and counts as absent.")


def _changed(step: ReceiptStep, eyes: Eyes, *, gone_is_fine: bool) -> str | None:
    """Say which written file is another one now. A running job purges old ones."""
    written = {one.path: one.sha256 for one in step.files if one.sha256 is not None and not one.path.endswith(".crc")}
    found = eyes.files(step.place, tuple(written))
    for path, digest in written.items():
        if path not in found:
            if not gone_is_fine:
                return f"{step.place}/{path} was written, and cannot be read now."
        elif sha256(found[path]).hexdigest() != digest:
            return f"{step.place}/{path} is not the file that was written."
    return None


# --------------------------------------------------------------------------- savepoints


def _savepoint(plan: Plan, step: ReceiptStep, eyes: Eyes, checkpoint: str | None) -> list[Seen]:
    """Hold a savepoint against the plan. A job never writes to it; a checkpoint of the job's own does tell."""
    if not _whole(step.place, eyes):
        return _absent(plan, step.place)
    changed = _changed(step, eyes, gone_is_fine=False)
    if changed is not None:
        return _all(plan, Turnout.DIFFERENT, changed)
    required = plan.requirements.checkpoint
    names = () if required is None else tuple(path for path, _ in required.files)
    read = read_savepoint(HeldFolder(uri=step.place, files=eyes.files(step.place, names)))
    if step.target.kind is TargetKind.FLINK_SAVEPOINT_WITHOUT_SOURCES:
        made = _without_sources(plan, step, read)
    else:
        made = [_as_planned(position, Stands(read), step) for position in plan.positions]
    if checkpoint is None or any(each.turnout is Turnout.DIFFERENT for each in made):
        return made
    return _restored(plan, read, eyes, checkpoint)


def _without_sources(plan: Plan, step: ReceiptStep, read: Checkpoint) -> list[Seen]:
    if any(source.positions for source in read.sources):
        return _all(plan, Turnout.DIFFERENT, f"{step.place} keeps positions, expected none.")
    told = f"{step.place} keeps no position, as planned: the job begins where its source is told to."
    return _all(plan, Turnout.CONFIRMED, told)


def _as_planned(position: PlannedPosition, stands: Stands, step: ReceiptStep) -> Seen:
    name, found = f"{position.new_topic}-{position.partition}", stands.of(position)
    if found == position.new_offset:
        told = f"{name}: {found} stands in {step.place}, as planned."
        return Seen(found=found, turnout=Turnout.CONFIRMED, told=told)
    if found is None and position.old_offset is None:
        told = f"{name} is new: Flink begins it at its earliest record, which no savepoint shows."
        return Seen(found=None, turnout=Turnout.UNKNOWN, told=told)
    told = f"{name}: expected {position.new_offset} in {step.place}, found {_number(found)}."
    return Seen(found=found, turnout=Turnout.DIFFERENT, told=told)


def _restored(plan: Plan, read: Checkpoint, eyes: Eyes, checkpoint: str) -> list[Seen]:
    """Hold a checkpoint that the restored job made against the plan."""
    own = eyes.savepoint(checkpoint)
    other = not_of_this_job(own, read)
    if other is not None:
        return _all(plan, Turnout.UNKNOWN, other)
    logs = _logs(eyes.new_cluster(_topics(plan), ()))
    return [gone_on(position, Stands(own), own, logs) for position in plan.positions]


# --------------------------------------------------------------------------- files and groups


def _starting_offsets(plan: Plan, step: ReceiptStep, eyes: Eyes, checkpoint: str | None) -> list[Seen]:
    folder, _, name = step.place.rpartition("/")
    data = eyes.files(folder or "/", (name,)).get(name)
    if data is None:
        return _all(plan, Turnout.UNKNOWN, f"{step.place} cannot be read.")
    if sha256(data).hexdigest() != step.files[0].sha256:
        return _all(plan, Turnout.DIFFERENT, f"{step.place} is not the file that was written.")
    if for_flink(plan):
        told = f"{step.place} is as it was written; where a Flink job began, its next savepoint tells."
        return [
            Seen(found=position.new_offset, turnout=Turnout.CONFIRMED, told=told)
            if data == starting_offsets(plan).encode()
            else Seen(found=None, turnout=Turnout.DIFFERENT, told=f"{step.place} does not give the planned offsets.")
            for position in plan.positions
        ]
    try:
        # The file is one line of an offset log; its reader finds the numbers.
        found = _at_line(data)
    except GarbledError as error:
        return _all(plan, Turnout.DIFFERENT, f"{step.place} is garbled: {error}.")
    made = []
    for position in plan.positions:
        stands = found.get((position.new_topic, position.partition))
        same = stands == position.new_offset
        told = f"{position.new_topic}-{position.partition}: {step.place} gives {_number(stands)}"
        made.append(
            Seen(
                found=stands,
                turnout=Turnout.CONFIRMED if same else Turnout.DIFFERENT,
                told=f"{told}, as planned." if same else f"{told}, expected {position.new_offset}.",
            )
        )
    if checkpoint is None or any(each.turnout is Turnout.DIFFERENT for each in made):
        return made
    return _checkpoint(plan, step, eyes, checkpoint)


def _at_line(data: bytes) -> Places:
    line = data.strip()
    (source,) = parse_offsets(b"v1\n\n" + line).sources
    if source.kind != "kafka" or source.damage is not None:
        raise GarbledError(source.damage or "it holds no Kafka offsets")
    return {
        (topic.topic, partition): offset
        for topic in source.offsets
        for partition, offset in zip(topic.partitions, topic.offsets, strict=True)
    }


def _group(plan: Plan, step: ReceiptStep, eyes: Eyes) -> Iterator[Seen]:
    now = eyes.new_cluster(_topics(plan), (step.place,))
    group = next((each for each in now.groups if each.name == step.place), None)
    logs = _logs(now)
    if group is None or group.error is not None:
        why = "the cluster did not tell about it" if group is None else group.error
        yield from _all(plan, Turnout.UNKNOWN, f"Group {step.place!r} cannot be read: {why}.")
        return
    stands = {TopicPartition(topic=each.topic, partition=each.partition): each.offset for each in group.offsets}
    for position in plan.positions:
        key = TopicPartition(topic=position.new_topic, partition=position.partition)
        yield _committed(key, position.new_offset, stands.get(key), logs.get(key))


def _committed(key: TopicPartition, planned: int, found: int | None, log: PartitionState | None) -> Seen:
    end = None if log is None else log.hw
    if found == planned:
        return Seen(found=found, turnout=Turnout.CONFIRMED, told=f"{key}: committed at {found}, as planned.")
    if found is None:
        told = f"{key}: expected the commit {planned}, found none: it expired or was deleted."
    elif found < planned:
        told = f"{key}: expected {planned} or more, found {found} committed: somebody went back."
    elif end is not None and found > end:
        told = f"{key}: {found} is committed, past the end of the log {end}: nobody can have read up to there."
    elif end is None:
        told = f"{key}: {found} is committed, and its log cannot be read to tell whether that can be."
        return Seen(found=found, turnout=Turnout.UNKNOWN, told=told)
    else:
        told = f"{key}: the group has gone on from {planned} to {found}."
        return Seen(found=found, turnout=Turnout.MOVED_ON, told=told, started=True)
    return Seen(found=found, turnout=Turnout.DIFFERENT, told=told)


def _topics(plan: Plan) -> tuple[str, ...]:
    return tuple(sorted({position.new_topic for position in plan.positions}))


def _logs(now: Snapshot) -> dict[TopicPartition, PartitionState]:
    return {TopicPartition(topic=t.name, partition=p.partition): p for t in now.topics for p in t.partitions}


def _all(plan: Plan, turnout: Turnout, told: str) -> list[Seen]:
    return [Seen(found=None, turnout=turnout, told=told) for _ in plan.positions]


def _number(value: int | None) -> str:
    return "nothing" if value is None else str(value)


def watch(
    look: Callable[[], Verification], *, wait: Callable[[], None], told: Callable[[Verification], None]
) -> Verification:
    """Look again and again until the job has begun at every target, or began elsewhere.

    Args:
        look: Verifies once.
        wait: Waits between two looks; what it raises ends the watch.
        told: Hears every look.
    """
    while True:
        made = look()
        told(made)
        if decided(made):
            return made
        wait()
