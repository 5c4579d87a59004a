"""Whether what a plan was made from still holds: every requirement, and the records on both sides of a place.

Judged from fresh readings only. What does not hold any more makes the plan stale; what cannot be read is refused too,
because nobody approved a guess. Growth of log ends is no change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from offsetwise.errors import ApplyError, OffsetwiseError, StalePlanError
from offsetwise.findings.codes import Code
from offsetwise.model import (
    Checkpoint,
    Cluster,
    ClusterRequirement,
    GroupBefore,
    IsolationLevel,
    Neighbour,
    Outcome,
    PartitionState,
    Plan,
    PlannedPosition,
    Proof,
    Snapshot,
    Target,
    TargetKind,
    TopicPartition,
)
from offsetwise.translation.identify import Records, identify_as

NAMED: Final = 20
"""How many differences an error names."""
_INACTIVE: Final = frozenset({"Empty", "Dead"})
_TIMED: Final = "timestamp, "

RecordPlace = tuple[str, int, int]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One thing that must hold, and whether it does."""

    subject: str
    """What it is about: a cluster, a checkpoint, a group, or a partition."""
    outcome: Outcome
    told: str
    """One sentence: reviewed and now."""
    topic: str | None = None
    partition: int | None = None


def recheck(plan: Plan, world: World, *, begun: Collection[Target] = ()) -> tuple[Held, ...]:
    """Hold a plan against the world.

    Args:
        plan: The plan.
        world: Reads everything anew.
        begun: Targets that this plan has begun to write: what they change is not compared with what was reviewed,
            their writers do that, by the journal.

    Raises:
        ClusterError: A cluster gave no answer.
        SparkError: Records cannot be read.
    """
    wanted = plan.requirements
    old_groups = () if wanted.old_group is None else (wanted.old_group.group,)
    old = world.cluster(Cluster.OLD, tuple(topic.name for topic in wanted.old.topics), old_groups)
    groups = tuple(each for each in wanted.groups if each.group not in {target.group for target in begun})
    names = tuple(each.group for each in groups)
    new = world.cluster(Cluster.NEW, tuple(topic.name for topic in wanted.new.topics), names)
    made = [*_cluster(wanted.old, old, Cluster.OLD), *_cluster(wanted.new, new, Cluster.NEW), *_covered(plan)]
    logs = {Cluster.OLD: _logs(old), Cluster.NEW: _logs(new)}
    for position in plan.positions:
        made += _places(plan, position, logs[Cluster.NEW])
    if wanted.checkpoint is not None:
        in_place = any(target.kind is TargetKind.SPARK_CHECKPOINT_IN_PLACE for target in begun)
        made += () if in_place else _checkpoint(plan, world)
    for group in groups:
        made += _group(group, new, _new_partitions(plan), Cluster.NEW)
    if wanted.old_group is not None:
        made += _group(wanted.old_group, old, _old_partitions(plan), Cluster.OLD)
    if all(each.outcome is Outcome.PASSED for each in made):
        # Other logs than the reviewed ones would make every record differ and hide what is really wrong.
        made += _records(plan, world, logs)
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
        raise StalePlanError(
            f"Plan {digest[:12]}: expected everything as it was reviewed, found {_count(failed)} different. "
            f"{_some(failed)} Nothing was written.",
            fix="Take a new comparison and draft the plan again.",
        )
    if unknown:
        raise ApplyError(
            f"Plan {digest[:12]}: expected to read again what it was made from, found {_count(unknown)} that cannot be "
            f"read. {_some(unknown)} Nothing was written.",
            fix="See to what cannot be read, then give the same command again; or draft the plan again.",
        )


def _cluster(wanted: ClusterRequirement, now: Snapshot, side: Cluster) -> Iterator[Held]:
    subject = f"the {side} cluster"
    if wanted.cluster_id is None or now.cluster_id is None:
        told = f"Cluster {wanted.name!r}: it cannot be told whether it is the one that was reviewed: no cluster id."
        yield Held(subject=subject, outcome=Outcome.UNKNOWN, told=told)
    else:
        yield _same(subject, f"Cluster {wanted.name!r}: cluster id", wanted.cluster_id, now.cluster_id)
    topics = {topic.name: topic for topic in now.topics}
    for topic in wanted.topics:
        found = topics.get(topic.name)
        if found is None:
            unread = next(
                (p.message for p in now.problems if p.code == "TOPIC_UNREADABLE" and topic.name in p.message), ""
            )
            outcome = Outcome.UNKNOWN if unread else Outcome.FAILED
            told = unread or f"Topic {topic.name!r} of {wanted.name!r}: it was there, now it is not."
            yield Held(subject=subject, outcome=outcome, told=told, topic=topic.name)
            continue
        if found.error is not None:
            told = f"Topic {topic.name!r} of {wanted.name!r} cannot be read: {found.error}."
            yield Held(subject=subject, outcome=Outcome.UNKNOWN, told=told, topic=topic.name)
            continue
        yield _same(subject, f"Topic {topic.name!r} of {wanted.name!r}: topic id", topic.id, found.id, topic=topic.name)
        counted = len(found.partitions)
        yield _same(
            subject,
            f"Topic {topic.name!r} of {wanted.name!r}: number of partitions",
            topic.partitions,
            counted,
            topic=topic.name,
        )


def _covered(plan: Plan) -> Iterator[Held]:
    """Every topic that is used must be one that the plan requires: else nobody held it to anything."""
    for side, required, wanted in (
        (Cluster.OLD, plan.requirements.old, {p.topic for p in plan.positions if p.old_offset is not None}),
        (Cluster.NEW, plan.requirements.new, {p.new_topic for p in plan.positions}),
    ):
        for topic in sorted(wanted - {each.name for each in required.topics}):
            told = f"Topic {topic!r} of {required.name!r}: the plan uses it and does not say which topic it was."
            yield Held(subject=f"the {side} cluster", outcome=Outcome.UNKNOWN, told=told, topic=topic)


def _logs(snapshot: Snapshot) -> dict[TopicPartition, PartitionState]:
    return {
        TopicPartition(topic=topic.name, partition=each.partition): each
        for topic in snapshot.topics
        for each in topic.partitions
    }


def _places(plan: Plan, position: PlannedPosition, logs: Mapping[TopicPartition, PartitionState]) -> Iterator[Held]:
    """Hold every place that a restart uses against the new log as it is now."""
    key = TopicPartition(topic=position.new_topic, partition=position.partition)
    log = logs.get(key)
    if log is None:
        yield _held(position, Outcome.FAILED, f"{key}: the new cluster has no such partition.")
        return
    committed = plan.isolation_level is IsolationLevel.READ_COMMITTED
    end, word = (log.lso, "last stable offset") if committed else (log.hw, "high watermark")
    start = log.log_start
    if start is None or end is None:
        yield _held(
            position, Outcome.UNKNOWN, f"{key}: its log cannot be read: {log.error or 'the broker did not say'}."
        )
        return
    for offset in sorted({position.new_offset, *(each.new for each in position.restart if each.new is not None)}):
        if start <= offset <= end:
            yield _held(position, Outcome.PASSED, f"{key}: {offset} lies in [{start}, {end}].")
        else:
            where = f"below the log start {start}" if offset < start else f"past the {word} {end}"
            yield _held(position, Outcome.FAILED, f"{key}: {offset} lay in the log, now it lies {where}.")


def _checkpoint(plan: Plan, world: World) -> Iterator[Held]:
    wanted = plan.requirements.checkpoint
    assert wanted is not None  # noqa: S101 - asked before
    subject = "the checkpoint"
    try:
        now = world.checkpoint(wanted.uri)
    except OffsetwiseError as error:
        yield Held(subject=subject, outcome=Outcome.UNKNOWN, told=error.problem)
        return
    for problem in now.problems:
        if problem.code == Code.READER_SUSPECTED:
            yield Held(subject=subject, outcome=Outcome.FAILED, told=f"{wanted.uri}: {problem.message}")
    yield _same(subject, f"{wanted.uri}: engine", wanted.engine, now.engine)
    yield _same(subject, f"{wanted.uri}: query id", wanted.job_id, now.job_id)
    yield _same(subject, f"{wanted.uri}: last planned batch", wanted.last_planned_batch, now.last_planned_batch)
    yield _same(subject, f"{wanted.uri}: last committed batch", wanted.last_committed_batch, now.last_committed_batch)
    found = world.digests(wanted.uri, tuple(path for path, _ in wanted.files))
    for path, digest in wanted.files:
        yield _same(subject, f"{wanted.uri}/{path}: SHA-256", digest, found.get(path))


def _group(wanted: GroupBefore, now: Snapshot, planned: Collection[TopicPartition], side: Cluster) -> Iterator[Held]:
    subject = f"group {wanted.group!r} on the {side} cluster"
    found = next((each for each in now.groups if each.name == wanted.group), None)
    if found is None or found.error is not None or found.state is None:
        why = found.error if found is not None and found.error else "the cluster did not tell its state"
        yield Held(subject=subject, outcome=Outcome.UNKNOWN, told=f"Group {wanted.group!r} cannot be read: {why}.")
        return
    stopped = found.state in _INACTIVE
    told = f"Group {wanted.group!r}: expected no members, it is {found.state}."
    yield Held(subject=subject, outcome=Outcome.PASSED if stopped else Outcome.FAILED, told=told)
    before = {TopicPartition(topic=t, partition=p): offset for t, p, offset in wanted.offsets}
    stands = {TopicPartition(topic=each.topic, partition=each.partition): each.offset for each in found.offsets}
    for key in sorted({*before, *planned}):
        yield _same(
            subject,
            f"Group {wanted.group!r}, {key}: committed offset",
            before.get(key),
            stands.get(key),
            topic=key.topic,
            partition=key.partition,
        )


def _new_partitions(plan: Plan) -> set[TopicPartition]:
    return {TopicPartition(topic=each.new_topic, partition=each.partition) for each in plan.positions}


def _old_partitions(plan: Plan) -> set[TopicPartition]:
    return {TopicPartition(topic=each.topic, partition=each.partition) for each in plan.positions}


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
    """Read both neighbours of every place on both clusters, and hold their identities against the plan's."""
    made: list[Held] = []
    wanted: list[_Wanted] = []
    for position in plan.positions:
        if position.proof is None:
            told = (
                f"{position.new_topic}-{position.partition}: the plan has no records to read again ({position.method})."
            )
            made.append(_held(position, Outcome.PASSED, told))
            continue
        misplaced = _misplaced(position, position.proof)
        if misplaced is not None:
            made.append(_held(position, Outcome.FAILED, misplaced))
            continue
        wanted += _of_position(position, position.proof)
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
        for side, topic, offset in (
            (Cluster.OLD, position.topic, neighbour.old_offset),
            (Cluster.NEW, position.new_topic, neighbour.new_offset),
        ):
            if offset is not None:
                place = (topic, position.partition, offset)
                yield _Wanted(position=position, proof=proof, side=side, place=place, neighbour=neighbour)


def _misplaced(position: PlannedPosition, proof: Proof) -> str | None:
    """Say where a plan contradicts itself: its neighbours must enclose its places on both logs."""
    if position.override is not None:
        return None  # a person's own place need not lie where the records say
    name = f"{position.new_topic}-{position.partition}"
    before, after = proof.before, proof.after
    below, above = None if before is None else before.new_offset, None if after is None else after.new_offset
    if not _encloses(below, position.new_offset, above):
        return f"{name}: the plan's neighbours on the new cluster do not enclose {position.new_offset}."
    below, above = None if before is None else before.old_offset, None if after is None else after.old_offset
    if position.exactness.proven and not _encloses(below, position.old_offset, above):
        return f"{name}: the plan's neighbours on the old cluster do not enclose {position.old_offset}."
    return None


def _encloses(below: int | None, place: int | None, above: int | None) -> bool:
    return place is None or ((below is None or below < place) and (above is None or place <= above))


def _outside(one: _Wanted, logs: Mapping[TopicPartition, PartitionState]) -> str | None:
    topic, partition, offset = one.place
    log = logs.get(TopicPartition(topic=topic, partition=partition))
    if log is None or log.log_start is None or log.hw is None:
        return f"{topic}-{partition} on the {one.side} cluster: its log cannot be read, so no record can be."
    if not log.log_start <= offset < log.hw:
        return (
            f"{topic}-{partition} on the {one.side} cluster: the record at {offset} proves the place, and is not in "
            f"the log any more: [{log.log_start}, {log.hw})."
        )
    return None


def _compared(one: _Wanted, found: Records | None) -> Held:
    topic, partition, offset = one.place
    subject = f"{topic}-{partition} on the {one.side} cluster: the record at {offset}"
    if found is None:
        return _held(one.position, Outcome.UNKNOWN, f"{subject} cannot be read any more.")
    (identity,) = identify_as(
        found,
        timed=one.proof.identity.startswith(_TIMED),
        ignored_headers=one.proof.ignored_headers,
        schema_ids=dict(one.proof.schema_ids),
        is_new=one.side is Cluster.NEW,
    )
    if identity.hex() == one.neighbour.identity:
        return _held(one.position, Outcome.PASSED, f"{subject} is the one that was reviewed.")
    return _held(one.position, Outcome.FAILED, f"{subject} is another one than was reviewed.")


def _held(position: PlannedPosition, outcome: Outcome, told: str) -> Held:
    topic, partition = position.new_topic, position.partition
    return Held(subject=f"{topic}-{partition}", outcome=outcome, told=told, topic=topic, partition=partition)


def _same(
    subject: str, what: str, reviewed: object, now: object, *, topic: str | None = None, partition: int | None = None
) -> Held:
    outcome = Outcome.PASSED if reviewed == now else Outcome.FAILED
    told = f"{what}: reviewed {_shown(reviewed)}, now {_shown(now)}."
    return Held(subject=subject, outcome=outcome, told=told, topic=topic, partition=partition)


def _shown(value: object) -> str:
    return "none" if value is None else str(value)


def _count(held: Sequence[Held]) -> str:
    return f"{len(held)} thing{'' if len(held) == 1 else 's'}"


def _some(held: Sequence[Held]) -> str:
    more = f" And {len(held) - NAMED} more." if len(held) > NAMED else ""
    return " ".join(each.told for each in held[:NAMED]) + more
