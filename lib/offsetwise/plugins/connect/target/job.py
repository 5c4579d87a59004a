"""Checks whether a running connector continued from the offsets that a plan wrote, by its workers.

Kafka Connect keeps no record of a start. A running connector commits on top of the offsets that were written while it
was stopped, so offsets at or past all of these show that it used them; offsets that lack a partition or are before it,
that it did not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.job import Judgement
from offsetwise.model import JobOrigin, Plan, ReceiptStep, VerifiedJob
from offsetwise.plan.exports import planned_offsets
from offsetwise.plugins.connect.engine.running import RUNNING, RunningConnector, parse_address, read_running
from offsetwise.plugins.connect.section import new_connector
from offsetwise.wording import first_of, many

_NAMED: Final = 5
_STOP: Final = (
    "Stop it, and compare its offsets with the plan: PUT /connectors/NAME/stop, GET /connectors/NAME/offsets."
)


def address_of(text: str) -> str:
    return parse_address(text).uri


def observed(plan: Plan, steps: tuple[ReceiptStep, ...], text: str, readers: Readers) -> VerifiedJob:
    address = parse_address(text)
    address = replace(address, sign_on=readers.migration.job_sign_on(address.workers[0]))
    names = {step: new_connector(readers.migration, step.target.group or "").address.connector for step in steps}
    connector = read_running(address)
    step = next((step for step, name in names.items() if name == connector.name), None)
    origin, sentence = _of_another(connector, tuple(names.values())) if step is None else _judge(plan, step, connector)
    tasks = ", ".join(f"{count:,} {state}" for state, count in sorted(connector.tasks.items())) or "none"
    return VerifiedJob(
        target=(step or steps[0]).target,
        address=address.uri,
        id=connector.name,
        name=connector.name,
        state=connector.state,
        expected=(step or steps[0]).place,
        restored_from=None,
        origin=origin,
        told=f"Connector {connector.name} is {connector.state}, tasks: {tasks}. {sentence}",
    )


def _of_another(connector: RunningConnector, names: tuple[str, ...]) -> Judgement:
    return (
        JobOrigin.RESTORED_FROM_OTHER,
        f"Expected {' or '.join(names[:_NAMED])}, whose offsets the plan wrote, found another connector: "
        f"{connector.name} does not begin from these. Give the address of the connector that the plan moved.",
    )


def _judge(plan: Plan, step: ReceiptStep, connector: RunningConnector) -> Judgement:
    expected = plan.requirements.new.cluster_id
    if not connector.is_sink:
        return JobOrigin.RESTORED_FROM_OTHER, "Expected a sink connector, found a source, which has other offsets."
    if None not in (expected, connector.cluster_id) and expected != connector.cluster_id:
        return (
            JobOrigin.RESTORED_FROM_OTHER,
            f"Its workers are on Kafka cluster {connector.cluster_id}, expected {expected}, for which the plan wrote "
            f"offsets. {_STOP}",
        )
    if connector.state != RUNNING or RUNNING not in connector.tasks:
        return (
            JobOrigin.UNKNOWN,
            "Expected that it runs, with tasks that run: until then nothing shows where it begins. Resume it, PUT "
            "/connectors/NAME/resume, and look again.",
        )
    return _compared(plan, step, connector)


def _compared(plan: Plan, step: ReceiptStep, connector: RunningConnector) -> Judgement:
    planned = planned_offsets(plan, step.target.group or "")
    lacking = [at for at in planned if at not in connector.offsets]
    before = [at for at, offset in planned.items() if at in connector.offsets and connector.offsets[at] < offset]
    if len(lacking) == len(planned):
        return (
            JobOrigin.FRESH_START,
            f"Its workers report none of the {many(len(planned), 'offset')} that the plan wrote: it begins where its "
            f"consumer's auto.offset.reset says. {_STOP}",
        )
    if lacking or before:
        shown = [f"{at} at {connector.offsets[at]:,}, expected {planned[at]:,} or more" for at in before]
        shown += [f"{at} without an offset, expected {planned[at]:,} or more" for at in lacking]
        return JobOrigin.RESTORED_FROM_OTHER, f"Found {first_of(shown, _NAMED, between='; ')}. {_STOP}"
    moved = sum(connector.offsets[at] > offset for at, offset in planned.items())
    return (
        JobOrigin.RESTORED_FROM_PLAN,
        f"It commits to the offsets that the plan wrote: of {many(len(planned), 'partition')}, {moved:,} past "
        f"the planned offset, {len(planned) - moved:,} at it, none before it. Kafka Connect keeps no other record of "
        "where it began.",
    )
