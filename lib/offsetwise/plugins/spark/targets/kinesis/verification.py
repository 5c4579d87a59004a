from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.files import changed_file
from offsetwise.apply.verification.seen import Seen, for_all, number
from offsetwise.comparison.subjects import positions_of
from offsetwise.model import AnyPosition, Batch, Checkpoint, Plan, PlannedPosition, ReceiptStep, TopicPartition, Turnout
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, shard_id
from offsetwise.plugins.spark.engine.kinesis import parse_line
from offsetwise.plugins.spark.engine.offset_log import GarbledError
from offsetwise.plugins.spark.targets.kinesis.spec import place_of

Places = Mapping[tuple[str, TopicPartition], AnyPosition]
"""By source, stream and shard."""


def began_shards(plan: Plan, step: ReceiptStep, readers: Readers) -> list[Seen]:
    read, required = readers.with_times(step.place).checkpoint, plan.requirements.checkpoint
    if required is None or read.job_id != required.job_id or required.last_planned_batch is None:
        expected_id = None if required is None else required.job_id
        message = f"{step.place} is of the query {read.job_id}, expected {expected_id}."
        return for_all(plan, Turnout.DIFFERENT, message)
    pending = required.last_planned_batch != required.last_committed_batch
    first = required.last_planned_batch + (0 if pending else 1)
    done = [batch.id for batch in read.details.batches if batch.committed and batch.id >= first]
    if not done:
        changed = changed_file(step, readers, gone_is_fine=False)
        if changed is not None:
            return for_all(plan, Turnout.DIFFERENT, changed)
    begun = next((batch for batch in read.details.batches if batch.id == first), None)
    if begun is None and done:
        message = f"offsets/{first} of {step.place} is not retained any more, so where the query began cannot be seen."
        return for_all(plan, Turnout.UNKNOWN, message)
    now = _now(read)
    at = _Began(
        where=step.place if begun is None else f"offsets/{first} of {step.place}",
        positions=now if begun is None else _line(begun, plan),
        done=max(done, default=None),
        now=now,
    )
    return [_observed(position, at) for position in plan.positions]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Began:
    where: str
    positions: Places | None
    """None if the line cannot be read."""
    done: int | None
    """The last batch that it has committed since."""
    now: Places


def _now(read: Checkpoint) -> Places:
    return {
        (source.id, at.topic_partition): at.offset
        for source in read.sources
        if source.shards
        for at in positions_of(source)
    }


def _line(batch: Batch, plan: Plan) -> Places | None:
    results: dict[tuple[str, TopicPartition], AnyPosition] = {}
    lines = {source.id: source.raw for source in batch.sources}
    for position in plan.positions:
        try:
            line = parse_line(lines.get(position.source))
        except GarbledError:
            return None
        shard_position = None if line is None else line.positions.get(shard_id(position.partition))
        if line is not None and shard_position is not None:
            results[position.source, TopicPartition(line.stream, position.partition)] = shard_position
    return results


def _observed(planned_position: PlannedPosition, at: _Began) -> Seen:
    name, planned, key = (
        shard_id(planned_position.partition),
        place_of(planned_position),
        (planned_position.source, planned_position.new_topic_partition),
    )
    if at.positions is None:
        return Seen(found=None, turnout=Turnout.UNKNOWN, told=f"{name}: {at.where} cannot be read.")
    position = at.positions.get(key)
    if position is None and planned == SHARD_END:
        return Seen(found=None, turnout=Turnout.CONFIRMED, told=f"{name} is read to its end, and not in {at.where}.")
    if position != planned:
        message = f"{name}: expected {number(planned)} in {at.where}, found {number(position)}."
        return Seen(found=position, turnout=Turnout.DIFFERENT, told=message)
    if at.done is None:
        message = f"{name}: {position} is in {at.where}, as planned; the query has not committed a batch since."
        return Seen(found=position, turnout=Turnout.CONFIRMED, told=message)
    here = at.now.get(key)
    if here == planned:
        message = f"{name}: the query began at {position} as planned and had nothing to read up to batch {at.done}."
        return Seen(found=here, turnout=Turnout.CONFIRMED, told=message, started=True)
    message = f"{name}: the query began at exactly {position} and stands at {number(here)} after batch {at.done}."
    return Seen(found=here, turnout=Turnout.MOVED_ON, told=message, started=True)
