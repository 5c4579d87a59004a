from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from offsetwise.config import JobTraits, Migration
from offsetwise.digits import whole_number
from offsetwise.errors import OffsetwiseError, PlanError
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep, Snapshot, Target, TopicPartition
from offsetwise.plan.exports import planned_offsets
from offsetwise.plan.recorded import offsets_apart
from offsetwise.plan.refusals import no_checkpoint, sources
from offsetwise.plan.settings import Recorded
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plan.ways import Way
from offsetwise.plugins.connect.engine.engine import NAME as ENGINE
from offsetwise.plugins.connect.engine.reading import Connector, observe
from offsetwise.plugins.connect.section import new_connector, new_connectors

if TYPE_CHECKING:
    from offsetwise.apply.verification.job import JobModule

_NAME: Final = "connector"
PLACE: Final = "connector"
"""Key of the reviewed connector's address."""
KAFKA: Final = "Kafka cluster"
"""Key of the reviewed Kafka cluster's id of its workers."""
STOP: Final = "Stop the connector: PUT /connectors/NAME/stop. Then run the same command again."


def job_module() -> JobModule:
    from offsetwise.plugins.connect.target import job  # noqa: PLC0415 - it contacts a job, and a plan is drafted without

    return job


def connector_of(migration: Migration, target: Target) -> Connector:
    """Read a connector from its workers; only the migration file has their addresses.

    Raises:
        ConfigError: The migration file names no such connector.
        OffsetwiseError: No worker answers, or the answer cannot be used.
    """
    return observe(new_connector(migration, target.group or "").address)


def not_to_write(connector: Connector) -> str:
    """Return why a connector may not be written to in its state, as a part of a sentence; empty if it may."""
    if not connector.is_sink:
        return "a source connector"
    return f"{connector.name} {connector.not_stopped}" if connector.not_stopped else ""


def image(connector: Connector) -> dict[str, str | int | None]:
    values: dict[str, str | int | None] = {PLACE: connector.uri, KAFKA: connector.workers.cluster_id}
    if connector.elsewhere is not None:
        values["bootstrap.servers"] = connector.elsewhere
    return values | {str(at): offset for at, offset in connector.offsets.items()}


def reviewed(plan: Plan, target: Target) -> Mapping[str, str | int | None]:
    return next(
        (target_before.before for target_before in plan.requirements.targets if target_before.target == target), {}
    )


def offsets_before(plan: Plan, target: Target) -> dict[TopicPartition, int]:
    offsets = {}
    for key, value in reviewed(plan, target).items():
        topic, dash, partition = key.rpartition("-")
        number = whole_number(partition)
        if isinstance(value, int) and dash and number is not None:
            offsets[TopicPartition(topic, number)] = value
    return offsets


class ConnectorTarget(TargetType):
    name = _NAME
    label = "connector"
    where = Where.SERVICE
    role = TargetRole.POSITIONS
    address = "connector"
    job = staticmethod(job_module)
    ways = (
        Way(
            name=_NAME,
            engine=ENGINE,
            order=10,
            target=_NAME,
            title="the offsets of the connector on the new workers",
            keeps=("the positions", "the offsets that the new connector had before, to put back"),
            gives_up=("what a connector keeps outside of Kafka Connect, in the system that it writes to",),
            needs=(
                "the old connector is stopped",
                "the new connector is created with initial_state STOPPED, and named under connect with cluster: new",
                "Kafka Connect 3.6 or later",
            ),
            elsewhere="No connector of the new cluster was read with this comparison: name one under connect, with "
            "cluster: new, and compare again",
        ),
    )

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        if comparison.engine != ENGINE:
            yield no_checkpoint.problem(
                "The positions were read from no connector of Kafka Connect.",
                fix="Write to the group that holds the offsets of the new connector, while that one is STOPPED: "
                "--target consumer-group:connect-NAME.",
            )
            return
        yield from sources(comparison)

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        for target in plan.targets:
            if target.kind == _NAME and PLACE not in reviewed(plan, target):
                yield no_checkpoint.problem(
                    f"The plan does not say what connector {target.group} has now, to be reviewed and put back.",
                    fix="Draft without --comparison, so that the workers are asked.",
                )

    def addresses(self, comparison: Comparison, new: Snapshot | None) -> Sequence[str]:
        return [read.name for read in comparison.services if read.target == _NAME]

    def services(self, migration: Migration) -> Sequence[str]:
        return [config.name for config in new_connectors(migration)]

    def before_of(
        self, migration: Migration, target: Target, settings: Recorded
    ) -> Mapping[str, str | int | None] | None:
        """Read the offsets of the connector; see `TargetType`.

        Raises:
            PlanError: It is not stopped, is a source, or cannot be read.
        """
        try:
            connector = connector_of(migration, target)
        except OffsetwiseError as error:
            raise PlanError(error.problem, fix=error.fix) from error
        if why := not_to_write(connector):
            raise PlanError(
                f"{connector.uri}: expected a sink connector that is stopped, found {why}, whose offsets are not "
                "known. Nothing was written.",
                fix=STOP,
            )
        return image(connector)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        location = reviewed(plan, step.target).get(PLACE)
        if step.place != location:
            yield f"its location is {step.place[:300]!r}, and the plan's connector is {location!r}"
        if step.files:
            yield "it has files, which a connector has none of"
        planned = planned_offsets(plan, step.target.group or "")
        yield from offsets_apart(step, planned, offsets_before(plan, step.target))


TYPE: Final = ConnectorTarget()
