"""Repeat the proof of every position from fresh readings: both its records, and the records between them.

Two records that are on both logs bound a position, and the records between them and the position must agree with it. So
each of the two is read again, and so are the records between them on both logs: at most one further window each.
Counted by identity, no record that the job has not read may lie below the new position, and none that it has read above
it. Mirrors keep the order of a partition, so if one record of a proof is missing, as at the end of a log, the nearest
records there are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.apply.readers import RecordPlace, RecordReader
from offsetwise.model import (
    Cluster,
    Neighbour,
    Outcome,
    PartitionState,
    Plan,
    PlannedPosition,
    Proof,
    TopicPartition,
)
from offsetwise.plan.proofs.several import stays
from offsetwise.plan.refusals import FROM_FILES, proof_not_repeated, without_proof, writes_pending
from offsetwise.position import offset_or_none
from offsetwise.translation.identify import Records, identify_as
from offsetwise.wording import many

EDGE: Final = 1_000
"""How many offsets are read on a side where a proof has no record."""
MOST: Final = 100_000
"""How many offsets are read at most between a record of a proof and its position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckResult:
    """One thing that must hold, and whether it does."""

    outcome: Outcome
    told: str
    """One sentence: the reviewed and the current state."""
    topic: str | None = None
    partition: int | None = None
    stoppable: bool = False
    """Whether the cause is a running client, so that stopping it is enough."""
    unproven: TopicPartition | None = None
    """The position, by its partition on the old cluster, whose proof cannot be repeated because a record is gone."""
    cutover: bool = False
    """Whether it is the required state of the cutover, which may hold later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """One position of a plan, the job's or the end of its pending batch, with its proof."""

    position: PlannedPosition
    proof: Proof
    old: int
    new: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Single:
    end: _End
    side: Cluster
    record: RecordPlace
    neighbour: Neighbour


@dataclass(frozen=True, slots=True, kw_only=True)
class _Between:
    """The ranges of offsets between the records of a proof and its position."""

    end: _End
    read: range
    """On the old log, below the position."""
    unread: range
    """On the old log, from the position on."""
    below: range
    """On the new log, below the new position."""
    above: range
    """On the new log, from the new position on."""

    @property
    def decides(self) -> bool:
        """Whether an unread record can lie below the new position, or a read one above it."""
        return bool((self.unread and self.below) or (self.read and self.above))

    @property
    def longest(self) -> int:
        return max(map(len, (self.read, self.unread, self.below, self.above)))

    def offsets(self) -> Iterator[tuple[Cluster, RecordPlace]]:
        old, new = self.end.position.topic_partition, self.end.position.new_topic_partition
        for side, at, offsets in (
            (Cluster.OLD, old, (*self.read, *self.unread)),
            (Cluster.NEW, new, (*self.below, *self.above)),
        ):
            yield from ((side, (at, offset)) for offset in offsets)


def proofs_again(
    plan: Plan, reader: RecordReader, logs: Mapping[Cluster, Mapping[TopicPartition, PartitionState]]
) -> list[RecheckResult]:
    """Repeat the proof of every position.

    Args:
        plan: The plan.
        reader: Reads records.
        logs: The logs of both clusters now.

    Returns:
        One result for each record and range that was read, and for each that differs or cannot be read.
    """
    checks = [RecheckResult(outcome=Outcome.PASSED, told=FROM_FILES)] if plan.from_files else []
    singles: list[_Single] = []
    betweens: list[_Between] = []
    pending = writes_pending(plan)
    for position in plan.positions:
        if position.override is not None and (position.proof is None or position.proof.parts):
            decided = f"{position.new_topic_partition}: a person decided it, and no record proves it."
            checks.append(held_of(position, Outcome.PASSED, decided))
        log = logs[Cluster.OLD].get(position.topic_partition)
        missing = without_proof(position, log, pending=pending, on_one_topic=stays(plan, position))
        if missing is not None:
            checks.append(held_of(position, Outcome.FAILED, f"{proof_not_repeated.code}: {missing}"))
            continue
        for end in _ends(position):
            of_end = [(single, _outside(single, logs[single.side])) for single in _singles(end)]
            # The remaining records of a proof are read all the same: they may differ from the reviewed ones.
            singles += [single for single, result in of_end if result is None]
            outside = [result for _, result in of_end if result is not None]
            checks += outside
            between = None if outside else _between(end, logs)
            if between is not None and between.decides:
                checks += [_too_many(between)] if between.longest > MOST else []
                betweens += [between] if between.longest <= MOST else []
    results = _read(plan, reader, singles, betweens)
    compared = [_compared(single, results) for single in singles]
    return [*checks, *compared, *(_counted(between, results) for between in betweens)]


def _too_many(between: _Between) -> RecheckResult:
    message = f"{between.end.label}: {between.longest:,} offsets lie between its proof and the position, and at most "
    message += f"{MOST:,} are read."
    return held_of(between.end.position, Outcome.UNKNOWN, message, unproven=True)


def _ends(position: PlannedPosition) -> Iterator[_End]:
    old, new = offset_or_none(position.old_offset), offset_or_none(position.new_offset)
    if position.proof is not None and old is not None and new is not None:
        yield _End(position=position, proof=position.proof, old=old, new=new, label=str(position.new_topic_partition))
    if position.end_proof is not None and len(position.restart) > 1:
        last = position.restart[-1]
        begin, end = offset_or_none(last.old), offset_or_none(last.new)
        label = f"{position.new_topic_partition}, end of batch {last.batch}"
        if begin is not None and end is not None:
            yield _End(position=position, proof=position.end_proof, old=begin, new=end, label=label)


def _singles(end: _End) -> Iterator[_Single]:
    for neighbour in (end.proof.before, end.proof.after):
        if neighbour is None:
            continue
        for side, at, offset in (
            (Cluster.OLD, end.position.topic_partition, neighbour.old_offset),
            (Cluster.NEW, end.position.new_topic_partition, neighbour.new_offset),
        ):
            if offset is not None:
                yield _Single(end=end, side=side, record=(at, offset), neighbour=neighbour)


def _outside(single: _Single, logs: Mapping[TopicPartition, PartitionState]) -> RecheckResult | None:
    at, offset = single.record
    log = logs.get(at)
    if log is None or log.log_start is None or log.hw is None:
        return _unreadable(
            single, f"{at} on the {single.side} cluster: its log cannot be read, so no record can be.", known=False
        )
    if not log.log_start <= offset < log.hw:
        message = f"{at} on the {single.side} cluster: the record at {offset:,} proves the position, and is not in "
        message += f"the log any more: [{log.log_start:,}, {log.hw:,})."
        return _unreadable(single, message)
    return None


def _unreadable(single: _Single, message: str, *, known: bool = True) -> RecheckResult:
    position = single.end.position
    if position.override is not None:  # a person decided it, so no record has to prove it
        return held_of(position, Outcome.PASSED, message)
    return held_of(position, Outcome.UNKNOWN, message, unproven=known)


def _between(end: _End, logs: Mapping[Cluster, Mapping[TopicPartition, PartitionState]]) -> _Between | None:
    """Return the ranges between the records of a proof and its position; None if a person decided the position."""
    if not end.position.proven:
        return None
    read, unread = _around(end, Cluster.OLD, end.old, logs[Cluster.OLD].get(end.position.topic_partition))
    below, above = _around(end, Cluster.NEW, end.new, logs[Cluster.NEW].get(end.position.new_topic_partition))
    return _Between(end=end, read=read, unread=unread, below=below, above=above)


def _around(end: _End, side: Cluster, offset: int, log: PartitionState | None) -> tuple[range, range]:
    """Return the offsets between the records of a proof and its position on one log: below it, and from it on."""
    first, last = _of(end.proof.before, side), _of(end.proof.after, side)
    start = None if log is None else offset_or_none(log.log_start)
    stop = None if log is None else offset_or_none(log.hw)
    begin = max(start or 0, offset - EDGE) if first is None else first + 1
    finish = max(offset, min(offset if stop is None else stop, offset + EDGE)) if last is None else last
    return range(begin, offset), range(offset, finish)


def _of(neighbour: Neighbour | None, side: Cluster) -> int | None:
    if neighbour is None:
        return None
    return offset_or_none(neighbour.old_offset if side is Cluster.OLD else neighbour.new_offset)


def _read(
    plan: Plan, reader: RecordReader, singles: Iterable[_Single], betweens: Iterable[_Between]
) -> Mapping[tuple[Cluster, str, RecordPlace], Records]:
    positions: dict[tuple[Cluster, str], set[RecordPlace]] = {}
    for single in singles:
        positions.setdefault((single.side, single.end.proof.salt), set()).add(single.record)
    for between in betweens:
        for side, position in between.offsets():
            positions.setdefault((side, between.end.proof.salt), set()).add(position)
    return {
        (side, salt, position): records
        for (side, salt), requested in positions.items()
        for position, records in reader.records(
            side, sorted(requested), isolation=plan.isolation_level, salt=bytes.fromhex(salt)
        ).items()
    }


def _identity(proof: Proof, side: Cluster, records: Records) -> str:
    (identity,) = identify_as(
        records,
        timed=proof.timed,
        ignored_headers=proof.ignored_headers,
        schema_ids=dict(proof.schema_ids),
        is_new=side is Cluster.NEW,
    )
    return identity.hex()


def _compared(single: _Single, records_read: Mapping[tuple[Cluster, str, RecordPlace], Records]) -> RecheckResult:
    at, offset = single.record
    subject = f"{at} on the {single.side} cluster: the record at {offset:,}"
    records = records_read.get((single.side, single.end.proof.salt, single.record))
    if records is None:
        return _unreadable(single, f"{subject} cannot be read any more.")
    if _identity(single.end.proof, single.side, records) == single.neighbour.identity:
        return held_of(single.end.position, Outcome.PASSED, f"{subject} is the one that was reviewed.")
    return held_of(single.end.position, Outcome.FAILED, f"{subject} is another one than was reviewed.")


def _counted(between: _Between, records_read: Mapping[tuple[Cluster, str, RecordPlace], Records]) -> RecheckResult:
    """Count by identity the unread records below the new position, and the read ones above it."""
    end = between.end
    old, new = end.position.topic_partition, end.position.new_topic_partition

    def identities(side: Cluster, at: TopicPartition, offsets: range) -> Counter[str]:
        records = (records_read.get((side, end.proof.salt, (at, offset))) for offset in offsets)
        return Counter(_identity(end.proof, side, record) for record in records if record is not None)

    read, unread = identities(Cluster.OLD, old, between.read), identities(Cluster.OLD, old, between.unread)
    below, above = identities(Cluster.NEW, new, between.below), identities(Cluster.NEW, new, between.above)
    skipped, again = displaced(unread, above, below, read), displaced(read, below, above, unread)
    count = sum(counter.total() for counter in (read, unread, below, above))
    if skipped:
        message = (
            f"{end.label}: {many(skipped, 'record')} that the job has not read {'lie' if skipped > 1 else 'lies'} "
            f"below {end.new:,} on the new cluster, between the two records of its proof."
        )
        return held_of(end.position, Outcome.FAILED, message)
    if end.position.replay is not None and again > end.position.replay:
        message = (
            f"{end.label}: {many(again, 'record')} that the job has read {'lie' if again > 1 else 'lies'} above "
            f"{end.new:,} on the new cluster, and the plan says that {end.position.replay:,} would be read twice."
        )
        return held_of(end.position, Outcome.FAILED, message)
    message = f"{end.label}: the {many(count, 'record')} between its proof and the position say the same as it."
    return held_of(end.position, Outcome.PASSED, message)


def displaced(expected: Counter[str], there: Counter[str], elsewhere: Counter[str], explained: Counter[str]) -> int:
    """Count the records whose copies are on the wrong side of a position.

    Args:
        expected: Records of the old log on one side of the position.
        there: Records of the new log on the same side.
        elsewhere: Records of the new log on the other side.
        explained: Records of the old log on the other side, whose copies may be there.
    """
    amiss, beyond = expected - there, elsewhere - explained
    return sum(min(amiss[identity], beyond[identity]) for identity in amiss & beyond)


def held_of(position: PlannedPosition, outcome: Outcome, message: str, *, unproven: bool = False) -> RecheckResult:
    topic, partition = position.new_topic, position.partition
    of = position.topic_partition if unproven else None
    return RecheckResult(outcome=outcome, told=message, topic=topic, partition=partition, unproven=of)
