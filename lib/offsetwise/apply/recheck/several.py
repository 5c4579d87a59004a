"""Repeat the proofs of positions in several partitions: the records of each partition, and those between them.

As for one partition, a record that the job has not read must not lie below the new position, nor one that it has read
above it. A record that was read in another partition explains a copy too, because equal records may be in several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from offsetwise.apply.readers import StretchReader
from offsetwise.apply.recheck.proofs import RecheckResult, displaced, held_of
from offsetwise.model import AnyPosition, Cluster, CopiedRecord, Outcome, PartProof, Plan, PlannedPosition
from offsetwise.plan.proofs.several import stays
from offsetwise.plan.refusals import without_proof
from offsetwise.ports.stretches import MOST, ReadStretch, Stretch
from offsetwise.position import OpaquePosition, TopicPartition
from offsetwise.wording import many

Certain = Callable[[AnyPosition], AnyPosition]
"""Returns up to where the job has certainly processed, given a position; see `CheckpointDetails.processed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProvenPart:
    position: PlannedPosition
    salt: str
    proof: PartProof
    old: Stretch
    new: Stretch

    @property
    def label(self) -> str:
        return f"{self.position.new_topic_partition}, of {self.old.topic_partition}"

    def stretch(self, side: Cluster) -> Stretch:
        return self.old if side is Cluster.OLD else self.new


_Read = Mapping[tuple[Cluster, str, Stretch], ReadStretch]


def several_again(plan: Plan, reader: StretchReader, certain: Certain) -> list[RecheckResult]:
    """Repeat the proof of every position in several partitions.

    Args:
        plan: The plan.
        reader: Reads records.
        certain: Returns up to where the job has certainly processed.

    Returns:
        One result for each record and part that was read, and for each that differs or cannot be read.
    """
    parts = [[*_parts(plan, position, certain)] for position in plan.positions]
    results = _read(reader, [part for proven_parts in parts for part in proven_parts])
    return [result for part in parts if part for result in _judged(part, results)]


def _parts(plan: Plan, position: PlannedPosition, certain: Certain) -> Iterator[_ProvenPart]:
    proof = position.proof
    if proof is None or position.override is not None:
        return
    if without_proof(position, on_one_topic=stays(plan, position)) is not None:
        return  # reported already
    positions = _positions(plan, position)
    for part in proof.parts:
        record_position = positions.get(part.partition)
        before, after = part.before, part.after
        yield _ProvenPart(
            position=position,
            salt=proof.salt,
            proof=part,
            old=Stretch(
                topic=position.topic,
                partition=part.partition,
                position=None if record_position is None else certain(record_position),
                first=None if before is None else before.old,
                final=None if after is None else after.old,
            ),
            new=Stretch(
                topic=position.new_topic,
                partition=position.partition,
                position=position.new_offset,
                first=None if before is None else before.new,
                final=None if after is None else after.new,
            ),
        )


def _positions(plan: Plan, position: PlannedPosition) -> Mapping[int, AnyPosition]:
    results: dict[int, AnyPosition] = {}
    for planned_position in (*plan.positions, position):
        if (planned_position.source, planned_position.topic) == (position.source, position.topic):
            results |= planned_position.old_offset.of if isinstance(planned_position.old_offset, OpaquePosition) else ()
    return results


def _read(reader: StretchReader, parts: Sequence[_ProvenPart]) -> _Read:
    requests: dict[tuple[Cluster, str], dict[Stretch, None]] = {}
    for part in parts:
        for side in Cluster:
            requests.setdefault((side, part.salt), {})[part.stretch(side)] = None
    return {
        (side, salt, stretch): read
        for (side, salt), some in requests.items()
        for stretch, read in zip(some, reader.stretches(side, [*some], salt=bytes.fromhex(salt)), strict=True)
    }


def _judged(parts: Sequence[_ProvenPart], stretches: _Read) -> Iterator[RecheckResult]:
    position = parts[0].position
    compared = [result for part in parts for side in Cluster for result in _compared(part, side, stretches)]
    yield from compared
    if position.proven and all(result.outcome is Outcome.PASSED for result in compared):
        yield _counted(parts, stretches)


def _compared(part: _ProvenPart, side: Cluster, stretches: _Read) -> Iterator[RecheckResult]:
    read = stretches[side, part.salt, part.stretch(side)]
    at = part.stretch(side).topic_partition
    for record, records, whole in (
        (part.proof.before, read.below, read.whole_below),
        (part.proof.after, read.above, read.whole_above),
    ):
        if record is not None:
            yield _record_result(part, side, at, record, dict(records), read=read, whole=whole)


def _record_result(
    part: _ProvenPart,
    side: Cluster,
    at: TopicPartition,
    record: CopiedRecord,
    records: Mapping[AnyPosition, str],
    *,
    read: ReadStretch,
    whole: bool,
) -> RecheckResult:
    record_at = record.old if side is Cluster.OLD else record.new
    subject = f"{at} on the {side} cluster: the record {record_at}"
    identity, position = records.get(record_at), part.position
    if identity == record.identity:
        return held_of(position, Outcome.PASSED, f"{subject} is the one that was reviewed.")
    if identity is not None:
        return held_of(position, Outcome.FAILED, f"{subject} is another one than was reviewed.")
    if record_at in read.expired:
        message = f"{subject} proves the position, and is not in the log any more."
        return held_of(position, Outcome.UNKNOWN, message, unproven=True)
    if not whole:
        message = f"{subject} lies further than {MOST:,} records from the position, and at most as many are read."
        return held_of(position, Outcome.UNKNOWN, message, unproven=True)
    message = f"{subject} is not there, or not on the side of the position that the plan says."
    return held_of(position, Outcome.FAILED, message)


def _counted(parts: Sequence[_ProvenPart], stretches: _Read) -> RecheckResult:
    position = parts[0].position
    name, new = str(position.new_topic_partition), position.new_offset
    olds = [stretches[Cluster.OLD, part.salt, part.old] for part in parts]
    news = [stretches[Cluster.NEW, part.salt, part.new] for part in parts]
    all_read = _identities(*(stretch.below for stretch in olds))
    all_unread = _identities(*(stretch.above for stretch in olds))
    again, count = 0, 0
    for part, old, there in zip(parts, olds, news, strict=True):
        read, unread = _identities(old.below), _identities(old.above)
        below, above = _identities(there.below), _identities(there.above)
        count += sum(counter.total() for counter in (read, unread, below, above))
        skipped = displaced(unread, above, below, all_read)
        if skipped:
            message = (
                f"{part.label}: {many(skipped, 'record')} that the job has not read {'lie' if skipped > 1 else 'lies'} "
                f"below {new:,} on the new cluster."
            )
            return held_of(position, Outcome.FAILED, message)
        if unread - above and not there.whole_below:
            message = f"{part.label}: more than {MOST:,} records lie below {new:,}, and at most as many are read."
            return held_of(position, Outcome.UNKNOWN, message, unproven=True)
        again += displaced(read, below, above, all_unread)
    if position.replay is not None and again > position.replay:
        message = (
            f"{name}: {many(again, 'record')} that the job has read {'lie' if again > 1 else 'lies'} above {new:,} on "
            f"the new cluster, and the plan says that {position.replay:,} would be read twice."
        )
        return held_of(position, Outcome.FAILED, message)
    message = f"{name}: the {many(count, 'record')} around it on both clusters say the same as its proof."
    return held_of(position, Outcome.PASSED, message)


def _identities(*records: Sequence[tuple[AnyPosition, str]]) -> Counter[str]:
    return Counter(identity for some in records for _, identity in some)
