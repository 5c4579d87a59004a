from __future__ import annotations

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen, for_all, number
from offsetwise.model import AnyPosition, Checkpoint, Details, Plan, PlannedPosition, ReceiptStep, Turnout
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, ShardPlace, shard_id
from offsetwise.plugins.kinesis.stream.tables import DynamoTable
from offsetwise.plugins.kinesis.targets.kcl.spec import leases_as_checkpoint
from offsetwise.plugins.kinesis.targets.kcl_leases.spec import place_of


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    """Compare the table that the plan names, or a dump of it that is given as a checkpoint, with the plan."""
    read = _table(readers, step.target.group or "") if checkpoint is None else readers.with_times(checkpoint).checkpoint
    if read is None:
        return for_all(plan, Turnout.DIFFERENT, f"There is no table {step.target.group} in this region and account.")
    results = {shard.shard: shard.position for source in read.sources for shard in source.shards}
    return [_observed(position, results.get(shard_id(position.partition)), read) for position in plan.positions]


def _table(readers: Readers, name: str) -> Checkpoint | None:
    """Read the table at the migration's target: the address in a receipt is not trusted."""
    return leases_as_checkpoint(DynamoTable(readers.target, name))


def _observed(position: PlannedPosition, here: AnyPosition | None, read: Checkpoint) -> Seen:
    name, planned = shard_id(position.partition), place_of(position)
    if planned is None or here is None:
        message = f"{name} has no lease in {read.uri}: the application has read it to its end, or was never given it."
        return Seen(found=None, turnout=Turnout.UNKNOWN, told=message)
    if here == planned:
        return Seen(found=here, turnout=Turnout.CONFIRMED, told=f"{name}: the lease is at {here}, as planned.")
    if _has_gone_on(here, planned, read.details):
        message = f"{name}: the application has gone on from {planned} to {here}."
        return Seen(found=here, turnout=Turnout.MOVED_ON, told=message, started=True)
    message = f"{name}: expected {planned} or later in {read.uri}, found {number(here)}."
    return Seen(found=here, turnout=Turnout.DIFFERENT, told=message)


def _has_gone_on(here: AnyPosition, planned: ShardPlace, details: Details) -> bool:
    """Return whether an application that began at the planned position can have come to another one by reading.

    A worker replaces `TRIM_HORIZON` by the number of a record or by the end of the shard; it never writes `LATEST`.
    """
    if planned == TRIM_HORIZON:
        return here == SHARD_END or (isinstance(here, ShardPlace) and here.sequence is not None)
    return details.processed(here) > details.processed(planned)
