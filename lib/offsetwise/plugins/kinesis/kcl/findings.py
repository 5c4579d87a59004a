from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.findings import Stage, finding
from offsetwise.findings.case import MigrationCase
from offsetwise.model import AnyPosition, Severity
from offsetwise.plugins.kinesis.stream.findings import held_by
from offsetwise.plugins.kinesis.stream.numbers import evidence_of, moment
from offsetwise.plugins.kinesis.stream.spec import LATEST, ShardPlace
from offsetwise.position import in_partitions
from offsetwise.wording import many

_NAMED: Final = 4


def _at_latest(case: MigrationCase) -> str:
    shards = [row.topic_partition for row in case.rows if row.old_offset == LATEST]
    amount = held_by(case, shards)
    return f"{amount} As much can be skipped." if amount else ""


@finding(
    code="LEASE_AT_LATEST",
    severity=Severity.BLOCKS,
    title="A lease has no position yet but LATEST",
    remedy="Let the application make its first checkpoint in the shard, before it is stopped.",
    rank=1120,
    stage=Stage.READER,
    amount=_at_latest,
)
def lease_at_latest(shard: str, newest_s: int | None) -> Iterator[str]:
    """A worker took the shard at its end and has not made a checkpoint.

    Args:
        shard: Its id.
        newest_s: Arrival of the newest record that the application has processed in any shard, in seconds since the
            epoch; None if no lease shows it.
    """
    since = ""
    if newest_s is not None:
        since = f" The newest record that the application has processed in any shard arrived at {moment(newest_s)}: it "
        since += "was not stopped before."
    yield (
        f"Shard {shard} is at LATEST: no position is saved, so a start reads from the end that the shard has then, and "
        f"skips what arrived since the last stop.{since}"
    )


@finding(
    code="LEASE_HELD",
    severity=Severity.BLOCKS,
    title="A lease is being handed over",
    remedy="Stop the application, and read the table again.",
    rank=1130,
    stage=Stage.READER,
)
def lease_held(shard: str, owner: str, next_owner: str) -> Iterator[str]:
    yield f"The lease of shard {shard} has two workers: {owner} works, and {next_owner} is to take it. Both are alive."


@finding(
    code="LEASE_TABLE_MIGRATES",
    severity=Severity.BLOCKS,
    title="The lease table is between two versions of the KCL",
    remedy="Finish the migration of the KCL, or take it back, before positions are written.",
    rank=1140,
    stage=Stage.READER,
)
def lease_table_migrates(table: str, state: str) -> Iterator[str]:
    yield f"Table {table} is in the state {state}: nothing may be written to it until the migration of the KCL is over."


@finding(
    code="LEASE_PENDING",
    severity=Severity.INFORMS,
    title="A checkpoint was prepared and not made",
    remedy="Nothing: the worker that takes the lease is handed it, and it is not a position.",
    rank=810,
    stage=Stage.READER,
)
def lease_pending(shard: str, pending: str, position: str) -> Iterator[str]:
    yield f"Shard {shard} is at {position}, and a checkpoint at {pending} was prepared and not made. It is not used."


@finding(
    code="NOT_LEASES",
    severity=Severity.INFORMS,
    title="Something beside the leases was left aside",
    remedy="Nothing, of tables and rows that belong to the application; else name the lease table.",
    rank=820,
    stage=Stage.READER,
)
def not_leases(what: str, names: Sequence[str]) -> Iterator[str]:
    yield f"These {what} are not leases and are not read: {', '.join(names)}."


@finding(
    code="LEASES_IN_PART",
    severity=Severity.WARNS,
    title="The file may lack leases",
    remedy="Read the folder of the export, which has its manifests, or the table itself; or compare with the stream's "
    "shards: one without a lease is named there.",
    rank=1035,
    stage=Stage.READER,
)
def leases_in_part(table: str) -> Iterator[str]:
    yield (
        f"The leases of {table} are of CSV, or of one file of an export to S3, which may have others, and they do not "
        "name their hash keys: whether all shards have one is not known."
    )


@finding(
    code="LEASE_DRIFT",
    severity=Severity.WARNS,
    title="The application and the checkpoint are at different positions",
    remedy="Stop both, let the one that is behind read on, and compare again; or find out which of both is right, and "
    "draft the plan from that one.",
    rank=430,
    stage=Stage.MIGRATION,
    stream="kinesis",
)
def lease_drift(case: MigrationCase) -> Iterator[str]:
    there = {at.topic_partition: at.offset for at in case.other_positions}
    known = ((row.topic_partition, row.old_offset) for row in case.rows if row.old_offset is not None)
    here = dict(part for at, position in known for part in in_partitions(at, position))
    apart = [
        f"{partition} is {_apart(position, other)}"
        for partition, position in sorted(here.items(), key=lambda entry: entry[0])
        if (other := there.get(partition)) is not None and position != other
    ]
    if apart:
        more = f", and {many(len(apart) - _NAMED, 'more shard')}" if len(apart) > _NAMED else ""
        yield (
            f"Application {case.application!r} is elsewhere than the checkpoint in {many(len(apart), 'shard')}: "
            f"{'; '.join(apart[:_NAMED])}{more}."
        )


def _apart(here: AnyPosition | None, there: AnyPosition) -> str:
    """Describe how far an application is from a position; seconds as encoded in both numbers."""
    mine, its = (
        evidence_of(at.sequence) if isinstance(at, ShardPlace) and at.sequence is not None else None
        for at in (here, there)
    )
    message = f"at {there} there and {here} here"
    if mine is None or its is None:
        return message
    seconds = its.arrived_s - mine.arrived_s
    return f"{message}, {many(abs(seconds), 'second')} {'behind' if seconds < 0 else 'ahead'}"
