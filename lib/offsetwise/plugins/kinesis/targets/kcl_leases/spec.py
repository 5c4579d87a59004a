from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from offsetwise.config import ClusterConfig
from offsetwise.errors import ApplyError, ClusterError, PlanError
from offsetwise.findings import Stage, finding
from offsetwise.model import (
    AnyPosition,
    CheckpointRequirement,
    Comparison,
    Plan,
    PlannedPosition,
    Problem,
    ReceiptStep,
    Severity,
    Snapshot,
    Start,
    TableBefore,
    Target,
    TopicRequirement,
    TopicState,
)
from offsetwise.plan.refusals import place_not_held, shards_unknown, sources
from offsetwise.plan.settings import Recorded, Settings, settings_of
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plan.ways import Way
from offsetwise.plugins.kinesis.stream.findings import table_shared
from offsetwise.plugins.kinesis.stream.numbers import NumberEvidence, evidence_of, moment
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, Place, ShardPlace, sequence_number, shard_id
from offsetwise.plugins.kinesis.stream.spec import SPEC as STREAM
from offsetwise.plugins.kinesis.stream.tables import DynamoTable
from offsetwise.plugins.kinesis.targets.kcl.spec import (
    CREATE,
    KCL_3,
    NAME_ANOTHER,
    NoTableError,
    applications,
    read_leases,
)
from offsetwise.plugins.kinesis.targets.spec import is_to_another_stream
from offsetwise.storage.dynamodb import Item
from offsetwise.wording import many

_NAME: Final = "kcl-leases"
_DO_NOT_CREATE: Final = "Leave out --set create_table and --set kcl to write to it, or name a new application."


class LeaseSettings(Settings):
    create_table: bool = Field(default=False, description="create the application's table, which there is none of yet")
    kcl: Literal["2", "3"] | None = Field(default=None, description="the version of the KCL that it is created for")


def created_for(settings: Recorded) -> str | None:
    """Return the version of the KCL that a plan with these settings creates the table for; None if it creates none."""
    stated = settings_of(LeaseSettings, settings)
    return stated.kcl if stated.create_table else None


@finding(
    code="LEASE_TABLE",
    severity=Severity.BLOCKS,
    title="The lease table has to be created, or is there already",
    remedy=CREATE,
    rank=268,
    stage=Stage.PLAN,
)
def lease_table(table: str, state: str) -> Iterator[str]:
    yield f"Table {table}: {state}."


def place_of(position: PlannedPosition) -> ShardPlace | None:
    """Return the position as a lease expresses it; None if it cannot."""
    new_position = position.new_offset
    if not isinstance(new_position, ShardPlace):
        return None
    if position.start is Start.EARLIEST:
        return TRIM_HORIZON
    if new_position.place is Place.AFTER:
        # The last user record of a fully processed aggregate; a plain record has number 0 too.
        last = new_position.sub if new_position.sub is not None else (position.aggregate or 1) - 1
        return replace(new_position, sub=last or None)
    return new_position if new_position.place in (Place.TRIM_HORIZON, Place.SHARD_END) else None


def is_reviewed(plan: Plan, table: str) -> bool:
    required = plan.requirements.checkpoint
    return required is not None and required.job_id == table and not is_to_another_stream(plan.positions)


def of_another_stream(plan: Plan, leases: Mapping[str, AnyPosition]) -> str:
    """Return which lease is of another stream than the plan's; empty if none is known to be.

    Shards of all streams have the same ids, and a table does not record the stream of its leases: only their numbers
    tell, by the creation time of the shard, and the end of a shard that is open. Numbers of an unknown layout are
    ignored.

    Args:
        plan: The plan.
        leases: The positions in a table, by lease key.
    """
    shards = {shard_id(shard.partition): shard for topic in plan.requirements.new.topics for shard in topic.shards}
    firsts = {
        key: evidence_of(number)
        for key, shard in shards.items()
        if (number := None if shard.first is None else sequence_number(shard.first)) is not None
    }
    if ended := next((key for key in shards if leases.get(key) == SHARD_END and not shards[key].closed), None):
        return (
            f"its lease of {ended} is at the end of the shard, which the stream of the plan lists as open: the table "
            "is of another stream's application"
        )
    for position in plan.positions:
        key = shard_id(position.partition)
        planned, lease = _evidence(position.new_offset) or firsts.get(key), _evidence(leases.get(key))
        if planned is not None and lease is not None and planned.born_s != lease.born_s:
            return (
                f"its lease of {key} is at {leases[key]}, in a shard made at {moment(lease.born_s)}, and the shard of "
                f"the plan was made at {moment(planned.born_s)}: the table is of another stream's application"
            )
    return ""


def of_other_keys(topics: Sequence[TopicState | TopicRequirement], rows: Mapping[str, Item]) -> str:
    """Return which lease names other hash keys than the shard of its id; empty if none does.

    Args:
        topics: The stream that the plan is for, with its shards; several streams are not checked.
        rows: The rows of a table, by lease key.
    """
    for shard in topics[0].shards if len(topics) == 1 else ():
        key = shard_id(shard.partition)
        low, high = (rows.get(key, {}).get(name, {}).get("S") for name in ("startingHashKey", "endingHashKey"))
        if low is not None and high is not None and (low, high) != (str(shard.low), str(shard.high)):
            return (
                f"its lease of {key} has the hash keys from {low} to {high}, and the shard of the plan's stream those "
                f"from {shard.low} to {shard.high}: the table is of another stream's application"
            )
    return ""


def _evidence(position: AnyPosition | None) -> NumberEvidence | None:
    number = position.sequence if isinstance(position, ShardPlace) else None
    return None if number is None else evidence_of(number)


def _of_tables(plan: Plan) -> Iterator[Problem]:
    creates = created_for(plan.settings) is not None
    for before in plan.requirements.tables:
        if creates and not before.absent:
            result = f"the plan creates it, and there is one already, with {many(len(before.leases), 'lease')}"
            yield lease_table.problem(f"Table {before.table}: {result}.", fix=_DO_NOT_CREATE)
        elif before.absent and not creates:
            yield from lease_table(before.table, "there is none in this region and account, and the plan creates none")
        elif not before.absent:
            yield from _of_leases(plan, before)


def _of_leases(plan: Plan, before: TableBefore) -> Iterator[Problem]:
    leases = dict(before.leases)
    if why := of_another_stream(plan, leases):
        yield table_shared.problem(f"Table {before.table}: {why}.", fix=NAME_ANOTHER)
        return
    planned = {shard_id(position.partition): place_of(position) for position in plan.positions}
    other = next((key for key, new_position in planned.items() if leases.get(key, new_position) != new_position), None)
    if other is not None and is_to_another_stream(plan.positions):
        yield table_shared.problem(
            f"Table {before.table}: the plan is for another stream than the one that the job reads, and there is a "
            f"lease of {other} already, at {leases[other]}.",
            fix=NAME_ANOTHER,
        )
    unplanned = [key for key, at in leases.items() if key not in planned and str(at) != Place.SHARD_END]
    if unplanned:
        yield table_shared.problem(
            f"Table {before.table} has a lease of {min(unplanned)}, at {leases[min(unplanned)]}, and the plan has no "
            "position of that shard.",
            fix=NAME_ANOTHER,
        )
    yield from of_new_leases(plan, leases)


def of_new_leases(plan: Plan, leases: Mapping[str, AnyPosition]) -> Iterator[Problem]:
    """Report a shard that needs a new lease while its hash keys are not known.

    Args:
        plan: The plan.
        leases: The positions in the table, by lease key.
    """
    known = {shard_id(shard.partition) for topic in plan.requirements.new.topics for shard in topic.shards}
    for position in plan.positions:
        key, new_position = shard_id(position.partition), place_of(position)
        if (
            key not in leases
            and key not in known
            and new_position is not None
            and new_position.place is not Place.SHARD_END
        ):
            yield from shards_unknown(f"{key} of {position.new_topic!r} gets a lease, and its hash keys are not known.")
            return


def _of_settings(plan: Plan) -> Iterator[Problem]:
    settings = settings_of(LeaseSettings, plan.settings)
    if settings.create_table and settings.kcl is None:
        message = "A table is to be created, and nothing says for which version of the KCL."
        yield lease_table.problem(message, fix="Add --set kcl=2, which KCL 1 takes too, or --set kcl=3.")
    if settings.kcl is not None and not settings.create_table:
        message = f"kcl={settings.kcl} says how a table is created, and the plan creates none."
        yield lease_table.problem(message, fix="Add --set create_table=true, or leave out --set kcl.")


WAY: Final = Way(
    name="kcl-leases",
    order=100,
    target=_NAME,
    title="write the leases of an application",
    keeps=("the positions, number by number", "every row as it was, in the receipt, to put back"),
    gives_up=("who held the leases, and checkpoints that were prepared",),
    needs=(
        "every worker of the application is stopped",
        "the rights dynamodb:Scan, UpdateItem and PutItem on the table; DeleteItem to take new leases back",
        "of an application without a table --set create_table=true --set kcl=2, or kcl=3: the plan creates it then, "
        "with the rights dynamodb:DescribeTable, CreateTable and DeleteTable",
    ),
    elsewhere="This page does not know which tables there are",
)


class KclLeasesTarget(TargetType):
    name = _NAME
    label = "leases of the application"
    where = Where.CLUSTER
    role = TargetRole.POSITIONS
    address = "application"
    streams = frozenset({STREAM.name})
    parameters = LeaseSettings
    ways = (WAY,)
    notes = frozenset({"table"})

    def addresses(self, comparison: Comparison, new: Snapshot | None) -> Sequence[str]:
        return applications(comparison)

    def namesake(self, comparison: Comparison) -> str | None:
        return next(iter(applications(comparison)), None)

    def is_checkpoint(self, target: Target, checkpoint: CheckpointRequirement | None) -> bool:
        return checkpoint is not None and target.group == checkpoint.job_id

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        name = step.target.group or ""
        if step.place.partition("?")[0] != f"dynamodb://{name}":
            yield f"its location is {step.place[:300]!r}, and the plan's table is {name!r}"
        if step.table is not None and step.table.kcl != created_for(plan.settings):
            yield f"it says that the table was created for KCL {step.table.kcl[:20]}, and the plan does not"
        if step.files or step.offsets:
            yield "it has files or committed offsets, which a table has none of"
        planned = {
            shard_id(position.partition): (place_of(position), position.old_offset) for position in plan.positions
        }
        reviewed = is_reviewed(plan, name)
        keys = [lease.key for lease in step.leases]
        if len(set(keys)) != len(keys) or not planned.keys() >= set(keys):
            yield "its leases are not the plan's"
            return
        for lease in step.leases:
            new_position, old = planned[lease.key]
            if lease.position != new_position:
                yield f"it has {lease.key} at {lease.position}, and the plan says {new_position}"
            if reviewed and lease.before_position not in (None, old):
                yield f"it says that {lease.key} was at {lease.before_position} before, and {old} was reviewed"

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        yield from _of_settings(plan)
        yield from _of_tables(plan)
        if created_for(plan.settings) is not None:
            yield from of_new_leases(plan, {})
        for planned_position in plan.positions:
            if place_of(planned_position) is None:
                why = "it is after a record, at the oldest one or at the end of the shard"
                yield from place_not_held(
                    planned_position.new_topic_partition, planned_position.new_offset, "a lease", why
                )
        if len({(position.source, position.new_topic) for position in plan.positions}) > 1:
            yield sources.problem("A table holds the leases of one stream, and the positions are of several.")

    def creates(self, settings: Recorded, target: Target) -> str | None:
        """Return the table that a plan creates; None if it creates none."""
        kcl = created_for(settings)
        index = " with its index of owners" if kcl == KCL_3 else ""
        return None if kcl is None else f"DynamoDB table {target.group}, layout of KCL {kcl}{index}, PAY_PER_REQUEST"

    def table(self, config: ClusterConfig, target: Target, new: Snapshot) -> TableBefore | None:
        """Read the current table; None if nobody answers, which `apply` reports then."""
        given, name = config.properties, target.group or ""
        if "endpoint" in given and "dynamodb_endpoint" not in given:
            return None  # an emulator of the stream, without tables
        try:
            leases = read_leases(DynamoTable(config, name))
            if why := of_other_keys(new.topics, leases.rows):
                raise PlanError(f"Table {name}: {why}. Nothing was written.", fix=NAME_ANOTHER)
            return TableBefore(table=name, leases=tuple(sorted(leases.positions.items())))
        except NoTableError:
            return TableBefore(table=name, leases=(), absent=True)
        except ClusterError:
            return None
        except ApplyError as error:
            raise PlanError(error.problem, fix=error.fix) from error


TYPE: Final = KclLeasesTarget()
