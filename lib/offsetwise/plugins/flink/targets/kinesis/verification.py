from __future__ import annotations

from collections.abc import Mapping

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.files import changed_file
from offsetwise.apply.verification.seen import Seen, for_all, number
from offsetwise.model import AnyPosition, Checkpoint, Plan, PlannedPosition, ReceiptStep, Turnout
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.targets.kinesis.spec import begin_of
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, shard_id
from offsetwise.storage.memory import HeldFolder

Shards = Mapping[str, AnyPosition]
"""By the shard's id."""


def shards_in(read: Checkpoint) -> Shards:
    return {shard.shard: shard.position for source in read.sources for shard in source.shards}


def verified(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    """Compare a savepoint with the plan. A job never writes to it; a later checkpoint of the job shows its progress."""
    changed = changed_file(step, readers, gone_is_fine=False)
    if changed is not None:
        return for_all(plan, Turnout.DIFFERENT, changed)
    read = read_from(HeldFolder(uri=step.place, files=readers.files(step.place, _names(plan))))
    results = shards_as_planned(plan, step, read)
    if checkpoint is None or any(result.turnout is Turnout.DIFFERENT for result in results):
        return results
    return shards_restored(plan, readers.with_times(checkpoint).checkpoint, readers)


def shards_as_planned(plan: Plan, step: ReceiptStep, read: Checkpoint) -> list[Seen]:
    results = shards_in(read)
    return [_as_planned(position, results, step.place) for position in plan.positions]


def shards_restored(plan: Plan, own: Checkpoint, readers: Readers) -> list[Seen]:  # noqa: ARG001 - a number needs no end
    results = shards_in(own)
    return [_gone_on(position, results, own.uri) for position in plan.positions]


def _names(plan: Plan) -> tuple[str, ...]:
    required = plan.requirements.checkpoint
    return (METADATA, *(path for path, _ in (() if required is None else required.files) if path != METADATA))


def _as_planned(position: PlannedPosition, shards: Shards, uri: str) -> Seen:
    name, planned, here = shard_id(position.partition), begin_of(position), shards.get(shard_id(position.partition))
    if here is None and position.old_offset is None and planned == TRIM_HORIZON:
        message = f"{name} is new: Flink begins it at its oldest record, which no savepoint shows."
        return Seen(found=None, turnout=Turnout.UNKNOWN, told=message)
    if planned == SHARD_END and here is None:
        return Seen(found=None, turnout=Turnout.CONFIRMED, told=f"{name} is read to its end, and is not in {uri}.")
    if planned is not None and here == planned:
        return Seen(found=here, turnout=Turnout.CONFIRMED, told=f"{name}: {here} is in {uri}, as planned.")
    message = f"{name}: expected {number(planned)} in {uri}, found {number(here)}."
    return Seen(found=here, turnout=Turnout.DIFFERENT, told=message)


def _gone_on(position: PlannedPosition, own: Shards, uri: str) -> Seen:
    name, planned, here = shard_id(position.partition), begin_of(position), own.get(shard_id(position.partition))
    if planned is None or here is None:
        message = f"{name} is not in {uri}: the job has read it to its end, or does not read it."
        return Seen(found=None, turnout=Turnout.UNKNOWN, told=message)
    if here == planned:
        message = f"{name}: the job is at {here}, as planned, in {uri}."
        return Seen(found=here, turnout=Turnout.CONFIRMED, told=message, started=True)
    if here > planned:
        message = f"{name}: the job has gone on from {planned} to {here} in {uri}."
        return Seen(found=here, turnout=Turnout.MOVED_ON, told=message, started=True)
    if here < planned:
        message = f"{name}: expected {planned} or later in {uri}, found {here}: the job did not begin as planned."
        return Seen(found=here, turnout=Turnout.DIFFERENT, told=message)
    message = f"{name}: {here} is in {uri}; whether it is behind {planned} the stream alone can tell."
    return Seen(found=here, turnout=Turnout.UNKNOWN, told=message)
