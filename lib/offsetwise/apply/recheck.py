"""Whether what a plan was made from still holds: every requirement, and the records on both sides of a place.

Judged from fresh readings only. What does not hold any more makes the plan stale; what cannot be read is refused too,
because nobody approved a guess. Growth of log ends is no change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from offsetwise.engines.registry import engine_of
from offsetwise.errors import ApplyError, OffsetwiseError, StalePlanError
from offsetwise.findings.migration import reader_suspected
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    CheckpointRequirement,
    Cluster,
    IsolationLevel,
    Neighbour,
    Outcome,
    PartitionState,
    Plan,
    PlannedPosition,
    Proof,
    Requirements,
    Snapshot,
    Target,
    TopicPartition,
)
from offsetwise.plan.drift import Drift, DriftKind, drift, drift_of_checkpoint
from offsetwise.plan.sinks.settling import moved
from offsetwise.targets.spec import Where, spec_of
from offsetwise.transactions.report import SinkTransactions
from offsetwise.translation.identify import Records, identify_as
from offsetwise.wording import many

NAMED: Final = 20
"""How many differences an error names."""

RecordPlace = tuple[TopicPartition, int]
"""Topic, partition, offset."""


class World(Protocol):
    """What a recheck reads, as it is now."""

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read a cluster.

        Raises:
            ClusterError: It gave no answer.
        """

    def checkpoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def digests(self, uri: str, paths: tuple[str, ...]) -> Mapping[str, str]:
        """Give the SHA-256, in hex, of files of a checkpoint; one that cannot be read is left out.

        Raises:
            StorageError: The checkpoint cannot be opened.
        """

    def records(
        self, side: Cluster, places: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> Mapping[RecordPlace, Records]:
        """Read single records as hashes under a salt; a place without a record is left out.

        Raises:
            ClusterError: The cluster cannot be read.
            SparkError: Spark cannot read it.
        """

    def transactions(self, plan: Plan) -> SinkTransactions:
        """Look twice at the transactions of the job's sinks, and decide about each.

        Raises:
            ClusterError: The cluster gave no answer.
            ConfigError: The migration file does not state it.
            StorageError: The checkpoint cannot be read.
            CheckpointError: It is none.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One thing that must hold, and whether it does."""

    outcome: Outcome
    told: str
    """One sentence: reviewed and now."""
    topic: str | None = None
    partition: int | None = None
    stoppable: bool = False
    """Whether it is somebody at work, so that stopping them is enough."""


def recheck(plan: Plan, world: World, *, begun: Collection[Target] = ()) -> tuple[Held, ...]:
    """Hold a plan against the world.

    Args:
        plan: The plan.
        world: Reads everything anew.
        begun: Targets that this plan has begun to write: what they change is not compared with what was reviewed,
            their writers do that, by the journal.

    Returns:
        What does not hold, or cannot be read; and where nothing differs, every record that was read again.

    Raises:
        ClusterError: A cluster gave no answer.
        SparkError: Records cannot be read.
    """
    wanted = _left(plan.requirements, begun)
    checkpoint, files, told = _checkpoint(wanted.checkpoint, world)
    # What a checkpoint that cannot be read holds cannot be looked for.
    looked = wanted.sink is not None and checkpoint is not None
    of_sink = tuple(moved(plan, world.transactions(plan))) if looked else ()
    if not plan.positions:
        found = (*drift_of_checkpoint(wanted.checkpoint, checkpoint, files), *of_sink)
        return (*told, *(_drifted(each) for each in found))
    old_groups = () if wanted.old_group is None else (wanted.old_group.group,)
    old = world.cluster(Cluster.OLD, tuple(topic.name for topic in wanted.old.topics), old_groups)
    names = tuple(each.group for each in wanted.groups)
    new = world.cluster(Cluster.NEW, tuple(topic.name for topic in wanted.new.topics), names)
    found = (*drift(replace(plan, requirements=wanted), old, new, checkpoint, files=files), *of_sink)
    made = [*_covered(plan), *told, *(_drifted(each) for each in found)]
    if not made:
        # Other logs than the reviewed ones would make every record differ and hide what is really wrong.
        made += _records(plan, world, {Cluster.OLD: old.partitions(), Cluster.NEW: new.partitions()})
    return tuple(made)


def require(digest: str, held: Sequence[Held]) -> None:
    """Go on only if everything holds.

    Raises:
        StalePlanError: Something is not as it was reviewed.
        ApplyError: Nothing is known to differ, but something could not be read.
    """
    failed = [each for each in held if each.outcome is Outcome.FAILED]
    unknown = [each for each in held if each.outcome is Outcome.UNKNOWN]
    if failed:
        stop = all(each.stoppable for each in failed)
        raise StalePlanError(
            f"Plan {digest[:12]}: expected everything as it was reviewed, found {_count(failed)} different. "
            f"{_some(failed)} Nothing was written.",
            fix="Stop the query and every member of the group, wait two minutes, then give the same command again."
            if stop
            else "Take a new comparison and draft the plan again.",
        )
    if unknown:
        raise ApplyError(
            f"Plan {digest[:12]}: expected to read again what it was made from, found {_count(unknown)} that cannot be "
            f"read. {_some(unknown)} Nothing was written.",
            fix="See to what cannot be read, then give the same command again; or draft the plan again.",
        )


def _left(wanted: Requirements, begun: Collection[Target]) -> Requirements:
    groups = {target.group for target in begun}
    table = None if wanted.checkpoint is None else wanted.checkpoint.job_id
    in_place = any(
        (spec := spec_of(target.kind)).where is Where.CHECKPOINT or (spec.names_table and target.group == table)
        for target in begun
    )
    return replace(
        wanted,
        groups=tuple(each for each in wanted.groups if each.group not in groups),
        checkpoint=None if in_place else wanted.checkpoint,
        sink=None if any(spec_of(target.kind).ends for target in begun) else wanted.sink,
    )


def _drifted(found: Drift) -> Held:
    outcome = Outcome.UNKNOWN if found.kind is DriftKind.UNREADABLE else Outcome.FAILED
    active = found.kind is DriftKind.GROUP_ACTIVE
    return Held(outcome=outcome, told=found.told, topic=found.topic, partition=found.partition, stoppable=active)


def _checkpoint(
    wanted: CheckpointRequirement | None, world: World
) -> tuple[Checkpoint | None, Mapping[str, str], list[Held]]:
    """Read the checkpoint and the files the positions came from, and say what only reading it now can tell."""
    if wanted is None:
        return None, {}, []
    try:
        now = world.checkpoint(wanted.uri)
        pinned = engine_of(now.engine).reads_files
        files = dict(now.pins) if pinned else world.digests(wanted.uri, tuple(path for path, _ in wanted.files))
    except OffsetwiseError as error:
        return None, {}, [Held(outcome=Outcome.UNKNOWN, told=error.problem)]
    running = (each.message for each in now.problems if each.code == reader_suspected.code)
    return now, files, [Held(outcome=Outcome.FAILED, told=f"{wanted.uri}: {told}", stoppable=True) for told in running]


def _covered(plan: Plan) -> Iterator[Held]:
    """Every topic that is used must be one that the plan requires: else nobody held it to anything."""
    for side, required, wanted in (
        (Cluster.OLD, plan.requirements.old, {p.topic for p in plan.positions if p.old_offset is not None}),
        (Cluster.NEW, plan.requirements.new, {p.new_topic for p in plan.positions}),
    ):
        for topic in sorted(wanted - {each.name for each in required.topics}):
            told = f"Topic {topic!r} of {required.name!r}: the plan uses it and does not say which topic it was."
            yield Held(outcome=Outcome.UNKNOWN, told=f"{told} It is on the {side} cluster.", topic=topic)


# --------------------------------------------------------------------------- records


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """One record to read again."""

    position: PlannedPosition
    proof: Proof
    side: Cluster
    place: RecordPlace
    neighbour: Neighbour


def _records(plan: Plan, world: World, logs: Mapping[Cluster, Mapping[TopicPartition, PartitionState]]) -> list[Held]:
    """Read both neighbours of every place on both clusters, and hold their identities against the plan's.

    Of a pending batch both ends are places.
    """
    made: list[Held] = []
    wanted: list[_Wanted] = []
    for position in plan.positions:
        if position.proof is None:
            told = f"{position.new_topic_partition}: the plan has no records to read again ({position.method})."
            made.append(_held(position, Outcome.PASSED, told))
        if len(position.restart) > 1 and position.end_proof is None:
            told = f"{position.new_topic_partition}: the plan has no records at the end of its batch."
            made.append(_held(position, Outcome.PASSED, told))
        misplaced = next(_misplaced(position), None)
        if misplaced is not None:
            made.append(_held(position, Outcome.FAILED, misplaced))
            continue
        for proof in (position.proof, position.end_proof):
            if proof is not None:
                wanted += _of_position(position, proof)
    readable: dict[tuple[Cluster, str], list[_Wanted]] = {}
    for one in wanted:
        gone = _outside(one, logs[one.side])
        if gone is None:
            readable.setdefault((one.side, one.proof.salt), []).append(one)
        else:
            made.append(_held(one.position, Outcome.UNKNOWN, gone))
    for (side, salt), group in readable.items():
        places = sorted({one.place for one in group})
        found = world.records(side, places, isolation=plan.isolation_level, salt=bytes.fromhex(salt))
        made += [_compared(one, found.get(one.place)) for one in group]
    return made


def _of_position(position: PlannedPosition, proof: Proof) -> Iterator[_Wanted]:
    for neighbour in (proof.before, proof.after):
        if neighbour is None:
            continue
        for side, at, offset in (
            (Cluster.OLD, position.topic_partition, neighbour.old_offset),
            (Cluster.NEW, position.new_topic_partition, neighbour.new_offset),
        ):
            if offset is not None:
                yield _Wanted(position=position, proof=proof, side=side, place=(at, offset), neighbour=neighbour)


def _misplaced(position: PlannedPosition) -> Iterator[str]:
    """Say where a plan contradicts itself: the neighbours of a place must enclose it on both logs."""
    name = str(position.new_topic_partition)
    # A person's own place need not lie where the records say.
    if position.proof is not None and position.override is None:
        old = position.old_offset if position.exactness.proven else None
        yield from _unenclosed(name, position.proof, old, position.new_offset)
    if position.end_proof is not None and len(position.restart) > 1:
        end = position.restart[-1]
        yield from _unenclosed(f"{name}, end of batch {end.batch}", position.end_proof, end.old, end.new)


def _unenclosed(name: str, proof: Proof, old: AnyPosition | None, new: AnyPosition | None) -> Iterator[str]:
    before, after = proof.before, proof.after
    below, above = None if before is None else before.new_offset, None if after is None else after.new_offset
    if not _encloses(below, new, above):
        yield f"{name}: the plan's neighbours on the new cluster do not enclose {new}."
    below, above = None if before is None else before.old_offset, None if after is None else after.old_offset
    if not _encloses(below, old, above):
        yield f"{name}: the plan's neighbours on the old cluster do not enclose {old}."


def _encloses(below: AnyPosition | None, place: AnyPosition | None, above: AnyPosition | None) -> bool:
    return place is None or ((below is None or below < place) and (above is None or place <= above))


def _outside(one: _Wanted, logs: Mapping[TopicPartition, PartitionState]) -> str | None:
    at, offset = one.place
    log = logs.get(at)
    if log is None or log.log_start is None or log.hw is None:
        return f"{at} on the {one.side} cluster: its log cannot be read, so no record can be."
    if not log.log_start <= offset < log.hw:
        return (
            f"{at} on the {one.side} cluster: the record at {offset} proves the place, and is not in "
            f"the log any more: [{log.log_start}, {log.hw})."
        )
    return None


def _compared(one: _Wanted, found: Records | None) -> Held:
    at, offset = one.place
    subject = f"{at} on the {one.side} cluster: the record at {offset}"
    if found is None:
        return _held(one.position, Outcome.UNKNOWN, f"{subject} cannot be read any more.")
    (identity,) = identify_as(
        found,
        timed=one.proof.timed,
        ignored_headers=one.proof.ignored_headers,
        schema_ids=dict(one.proof.schema_ids),
        is_new=one.side is Cluster.NEW,
    )
    if identity.hex() == one.neighbour.identity:
        return _held(one.position, Outcome.PASSED, f"{subject} is the one that was reviewed.")
    return _held(one.position, Outcome.FAILED, f"{subject} is another one than was reviewed.")


def _held(position: PlannedPosition, outcome: Outcome, told: str) -> Held:
    topic, partition = position.new_topic, position.partition
    return Held(outcome=outcome, told=told, topic=topic, partition=partition)


def _count(held: Sequence[Held]) -> str:
    return many(len(held), "thing")


def _some(held: Sequence[Held]) -> str:
    more = f" And {len(held) - NAMED} more." if len(held) > NAMED else ""
    return " ".join(each.told for each in held[:NAMED]) + more
