"""Checks whether a running Spark query began from the checkpoint that a plan wrote, by its REST API or its event log.

The checkpoint contains the query's id. A copy has the id of the original, so the id alone proves nothing: the event log
records at which offsets the first batch began; by REST, which names only the batch, the copy must have its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.job import Judgement
from offsetwise.digits import whole_number
from offsetwise.engines.rest import require_plain
from offsetwise.model import JobOrigin, Plan, PlannedPosition, ReceiptStep, VerifiedJob
from offsetwise.plan.target import TargetRole, has_opaque_positions, target_type
from offsetwise.plugins.spark.engine.event_log import read_event_log
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_query_id
from offsetwise.plugins.spark.engine.query_runs import QueryRun, SparkApplication
from offsetwise.plugins.spark.engine.rest import SparkAddress, read_application
from offsetwise.wording import first_of

_METADATA: Final = "metadata"
_NAMED: Final = 5


def address_of(text: str) -> str:
    return SparkAddress.parse(text).text if _is_rest(text) else _path(text)


def observed(plan: Plan, steps: tuple[ReceiptStep, ...], text: str, readers: Readers) -> VerifiedJob:
    if _is_rest(text):
        address = SparkAddress.parse(text)
        application = read_application(address, readers.migration.job_sign_on(address.text))
    else:
        application = read_event_log(_path(text))
    step, query_id = _written_query(steps, readers, application)
    run = None if query_id is None else _latest(application.runs, query_id)
    if query_id is None:
        origin, message = (
            JobOrigin.UNKNOWN,
            f"{step.place} has no metadata that can be read, so the id of its query is not known.",
        )
    elif run is None:
        origin, message = _of_another(application, query_id)
    elif target_type(step.target.kind).role is TargetRole.START:
        origin, message = _seeded(run, step)
    else:
        origin, message = _judge(plan, step, application.runs, run, readers)
    label = f"Application {application.id or application.address} ({application.state})"
    return VerifiedJob(
        target=step.target,
        address=application.address,
        id=None if run is None else run.query_id,
        name=application.name if run is None or run.name is None else run.name,
        state=application.state,
        expected=step.place,
        restored_from=None,
        origin=origin,
        told=f"{label}: {message}{application.note and f' {application.note}'}",
    )


def _is_rest(text: str) -> bool:
    return text.lower().startswith(("http:", "https:"))


def _path(text: str) -> str:
    require_plain(text)
    return text.removeprefix("file://") if text.startswith("file:///") else text


def _written_query(
    steps: tuple[ReceiptStep, ...], readers: Readers, application: SparkApplication
) -> tuple[ReceiptStep, str | None]:
    ids = [(step, _query_id(readers.files(step.place, (_METADATA,)))) for step in steps]
    observed_ids = {run.query_id for run in application.runs}
    return next(((step, query_id) for step, query_id in ids if query_id in observed_ids), ids[0])


def _query_id(files: Mapping[str, bytes]) -> str | None:
    try:
        return parse_query_id(files[_METADATA]) if _METADATA in files else None
    except GarbledError:
        return None


def _latest(runs: tuple[QueryRun, ...], query_id: str) -> QueryRun | None:
    return next((run for run in reversed(runs) if run.query_id == query_id), None)


def _of_another(application: SparkApplication, query_id: str) -> Judgement:
    begun = [run for run in application.runs if run.newest_batch is not None]
    expected = f"expected the query {query_id}, the one of the checkpoint that the plan wrote"
    if not begun:
        return (
            JobOrigin.UNKNOWN,
            f"{expected}, found no batch of any streaming query. Look again after its first batch.",
        )
    names = list(dict.fromkeys(run.query_id for run in begun))
    first = begun[0]
    if len(names) == 1 and first.is_whole and first.first_batch == 0:
        return (
            JobOrigin.FRESH_START,
            f"{expected}, found {first.query_id}, which began with batch 0: it has a new checkpoint, and began where "
            "its startingOffsets say. Stop it, and start it with the checkpointLocation that the plan wrote.",
        )
    shown = [f"{run.query_id} (batch {run.first_batch} to {run.newest_batch})" for run in begun]
    return (
        JobOrigin.RESTORED_FROM_OTHER,
        f"{expected}, found {first_of(shown, _NAMED)}. Stop the job, and start it with the checkpointLocation that the "
        "plan wrote; or give the address of the application that runs it.",
    )


def _seeded(run: QueryRun, step: ReceiptStep) -> Judgement:
    return (
        JobOrigin.RESTORED_FROM_PLAN,
        f"query {run.query_id} runs on {step.place}: no other checkpoint has this id, which was made for it.",
    )


def _judge(plan: Plan, step: ReceiptStep, runs: tuple[QueryRun, ...], run: QueryRun, readers: Readers) -> Judgement:
    first = _first_batch(plan)
    if run.newest_batch is None or run.first_batch is None:
        return JobOrigin.UNKNOWN, f"query {run.query_id} has begun no batch yet. Look again after its first one."
    if run.is_whole and run.first_batch < first:
        return (
            JobOrigin.RESTORED_FROM_OTHER,
            f"query {run.query_id} began with batch {run.first_batch}, expected {first}: it runs on another checkpoint "
            f"with the same id, such as the original; expected {step.place}.",
        )
    conclusive_run = next(
        (candidate for candidate in reversed(runs) if candidate.query_id == run.query_id and _shows(candidate, first)),
        None,
    )
    if conclusive_run is not None and not has_opaque_positions(plan):
        return _compared(plan, conclusive_run, step)
    return _on_the_folder(step, run, readers)


def _first_batch(plan: Plan) -> int:
    batches = [point.batch for position in plan.positions for point in position.restart[:1] if point.batch is not None]
    return max(batches, default=-1) + 1


def _shows(run: QueryRun, first: int) -> bool:
    return run.is_whole and run.first_batch == first and run.starts is not None


def _compared(plan: Plan, run: QueryRun, step: ReceiptStep) -> Judgement:
    starts = run.starts or ()
    differing = [
        f"{position.new_topic_partition} at {_shown(start)}, expected {position.new_offset:,}"
        for position in plan.positions
        if (start := _start(starts, position)) != position.new_offset
    ]
    if not differing:
        return (
            JobOrigin.RESTORED_FROM_PLAN,
            f"batch {run.first_batch} of query {run.query_id}, its first one, began at exactly the planned offsets.",
        )
    return (
        JobOrigin.RESTORED_FROM_OTHER,
        f"batch {run.first_batch} of query {run.query_id}, its first one, began with "
        f"{first_of(differing, _NAMED, between='; ')}: it runs on another checkpoint with the same id, such as the "
        f"original. Stop it, and start it with {step.place} as its checkpointLocation.",
    )


def _shown(start: object) -> str:
    return "nothing" if start is None else f"{start:,}" if isinstance(start, int) else repr(start)[:60]


def _start(starts: tuple[object, ...], position: PlannedPosition) -> object:
    number = whole_number(position.source, len(starts) - 1)
    sources = [*starts] if number is None else [starts[number]]
    for source in sources:
        topic = source.get(position.new_topic) if isinstance(source, dict) else None
        if isinstance(topic, dict) and str(position.partition) in topic:
            return topic[str(position.partition)]
    return None


def _on_the_folder(step: ReceiptStep, run: QueryRun, readers: Readers) -> Judgement:
    """Judge by the files of the newest batch: a batch is written to the log before it runs."""
    newest = run.newest_batch
    planned, committed = f"offsets/{newest}", f"commits/{newest}"
    files = readers.files(step.place, (planned, committed))
    if planned not in files:
        return (
            JobOrigin.RESTORED_FROM_OTHER,
            f"query {run.query_id} is in batch {newest}, and {step.place} has no {planned}: it runs on another "
            "checkpoint with the same id, such as the original. Stop it, and start it with this one as its "
            "checkpointLocation.",
        )
    written = {file.path for file in step.files if file.sha256 is not None}
    if planned in written and (committed not in files or committed in written):
        return (
            JobOrigin.UNKNOWN,
            f"query {run.query_id} is in batch {newest}, whose {planned} the plan wrote, and the original may have it "
            "too: which of both it runs on is not known yet. Look again after the next batch, or give its event log.",
        )
    return (
        JobOrigin.RESTORED_FROM_PLAN,
        f"query {run.query_id} is in batch {newest}, which {step.place} has since the plan was applied: "
        f"{planned if planned not in written else committed}.",
    )
