"""Rules for migrating Spark queries.

The behaviour of an unedited start is the table in `spec/spark-checkpoints.md`, "Restart", for `failOnDataLoss=true`,
Spark's default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pydantic import Field

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.findings.case import MigrationCase
from offsetwise.findings.register import Stage, describe, finding
from offsetwise.model import (
    Comparison,
    GateCheck,
    Outcome,
    Plan,
    Prediction,
    Problem,
    RawVerdict,
    ReceiptStep,
    Severity,
)
from offsetwise.plan.exports import by_partition, whole_topics
from offsetwise.plan.moving import Elsewhere, Moving, StartingOffsets
from offsetwise.plan.predict import EXCEPTION, SAME_PLACE, UNKNOWN, Rows, damage, named
from offsetwise.plan.settings import Settings
from offsetwise.plan.ways import Way
from offsetwise.plugins.kinesis.stream.findings import held_by
from offsetwise.plugins.spark.engine.kinesis import AWSLABS_ENDS, LEFT_UNREAD
from offsetwise.plugins.spark.targets.rewind import REWINDING
from offsetwise.plugins.spark.targets.spec import against_anew, against_several
from offsetwise.position import offset_or_none
from offsetwise.wording import many, number

if TYPE_CHECKING:
    from offsetwise.apply.readers import Readers
    from offsetwise.apply.verification.seen import Seen

_BEGINS: Final = "The query starts"


def _predict(comparison: Comparison, rows: Rows) -> Prediction:
    """Return the effect of an unedited start. An exception stops the query before it can skip anything."""
    fails = _exception(comparison, rows)
    wrong = damage(rows, _BEGINS)
    if fails:
        return Prediction(effect=EXCEPTION, told=f"{fails} With failOnDataLoss=false it would go on: {_jump(wrong)}")
    if wrong is not None:
        return wrong
    unread_row = next((row for row in rows if row.raw.verdict is not RawVerdict.SAME), None)
    if unread_row is not None:
        message = f"What the numbers point at on the new cluster was not read, for example at {named(unread_row)}."
        return Prediction(effect=UNKNOWN, told=message)
    return SAME_PLACE


def _exception(comparison: Comparison, rows: Rows) -> str:
    """Describe why the query fails, and its state afterwards; empty if it does not fail."""
    renamed = next((row for row in rows if row.new_topic != row.topic), None)
    beyond = next((row for row in rows if row.new.hw is not None and row.restart[-1].old > row.new.hw), None)
    starts = ((row, row.new.log_start) for row in rows)
    below = next((row for row, start in starts if start is not None and row.restart[0].old < start), None)
    new = (row for row in comparison.partitions if row.old_offset is None)
    added = next((row for row in new if offset_or_none(row.new.log_start)), None)
    stopped = (finding.message for finding in comparison.findings if describe(finding.code).continuing)
    sentences = [f"The query fails: {message}" for message in stopped]
    if renamed is not None:
        sentences.append(
            f"The query fails: the new cluster has no topic {renamed.topic}, it is called {renamed.new_topic}."
        )
    if beyond is not None:
        checkpoint = comparison.checkpoint
        last = None if checkpoint is None else checkpoint.details.progress.planned
        leftover = (
            f"and leaves offsets/{0 if last is None else last + 1} with new numbers: a polluted checkpoint"
            if checkpoint is None or checkpoint.details.progress.again is None
            else f"because batch {checkpoint.details.progress.again} ends past the log"
        )
        sentences.append(
            f"The query fails: {named(beyond)} lies past the new log's end, {beyond.new.hw:,}, {leftover}."
        )
    if below is not None:
        sentences.append(f"The query fails: {named(below)} lies below the new log's start, {below.new.log_start:,}.")
    if added is not None:
        sentences.append(
            f"The query fails: {added.new_topic_partition} is new and starts at {added.new.log_start:,}, not 0."
        )
    return " ".join(sentences)


def _jump(wrong: Prediction | None) -> str:
    skipped = "positions past an end jump to it, which skips everything before; renamed topics begin at earliest."
    return skipped if wrong is None else f"{skipped} {wrong.told}"


def _option(plan: Plan) -> str:
    """Return the JSON of the option `startingOffsets`: exactly all partitions."""
    sources = {position.source for position in plan.positions}
    if len(sources) != 1:
        raise PlanError(
            f"startingOffsets: expected a plan for one Kafka source, found {len(sources):,}: Spark takes the option "
            "for each source of its own. Nothing was printed.",
            fix="Copy the checkpoint, or give every source its offsets by hand from the plan.",
        )
    topics = whole_topics(plan, by_partition(plan), otherwise="Spark refuses such a list")
    results = {topic: {str(number): offset for number, offset in offsets} for topic, offsets in topics}
    return json.dumps(results, separators=(",", ":"))


def _draft(text: str, message: str) -> str:
    """Wrap the JSON of a draft so that Spark fails on it: nobody approved these offsets."""
    return json.dumps({message: json.loads(text)}, separators=(",", ":"))


def _objections(comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
    yield from against_several(comparison, job)
    yield from against_anew(comparison, job, sink_rewound=sink_rewound)


def _stopped(plan: Plan) -> Iterator[GateCheck]:
    required = plan.requirements.checkpoint
    if required is None:
        return
    planned, committed = required.last_planned_batch, required.last_committed_batch
    batches = f"batch {number(planned)} planned, {number(committed)} committed"
    if None in (planned, committed):
        yield GateCheck(outcome=Outcome.UNKNOWN, name="query stopped", told=f"When it was read: {batches}.")
    elif planned != committed:
        note = "" if plan.dropped_batch is None else f" Batch {number(plan.dropped_batch)} is left out."
        yield GateCheck(outcome=Outcome.UNKNOWN, name="query stopped", told=f"When it was read: {batches}.{note}")
    else:
        yield GateCheck(outcome=Outcome.PASSED, name="no batch pending", told=f"When it was read: {batches}.")


_STARTING_OFFSETS: Final = Way(
    name="fresh-starting-offsets",
    order=30,
    target="starting-offsets",
    title="ignore the old state, startingOffsets",
    keeps=("the positions",),
    gives_up=("the state", "the query id and batch ids: a sink that remembers ids ignores the first batches"),
    needs=("an empty checkpoint folder", "the job's option startingOffsets set to the file", "one Kafka source"),
)


@finding(
    code="CHILDREN_AT_NOW",
    severity=Severity.BLOCKS,
    title="Shards that the checkpoint does not name begin at the job's own start",
    remedy="Write a starting position of every shard (--target starting-position): with LATEST the query skips what "
    "these hold.",
    rank=1170,
    stage=Stage.MIGRATION,
    unedited=True,
    stream="kinesis",
    engine="spark",
)
def children_at_now(case: MigrationCase) -> Iterator[str]:
    results = {(pair.old_name, shard.partition) for pair in case.topics if pair.old for shard in pair.old.shards}
    new = [row for row in case.rows if row.old_offset is None and (row.topic, row.partition) in results]
    if new:
        sentence = held_by(case, [row.topic_partition for row in new])
        yield (
            f"The checkpoint does not name {many(len(new), 'shard')} of the stream, {new[0].topic_partition} first: an "
            "unedited query begins them where its option startingposition says, and with LATEST or a JSON of other "
            f"shards skips what they hold.{f' {sentence}' if sentence else ''}"
        )


@finding(
    code="CLOSED_SHARD_DROPPED",
    severity=Severity.BLOCKS,
    title="An unedited query never reads what a closed shard has left",
    remedy="Begin a query anew at a starting position that names the shard (--target starting-position), or use the "
    "connector before 2.0.",
    rank=1180,
    stage=Stage.MIGRATION,
    unedited=True,
    stream="kinesis",
    engine="spark",
)
def closed_shard_dropped(case: MigrationCase) -> Iterator[str]:
    if case.checkpoint is None or not any(f"/{AWSLABS_ENDS}/" in path for path, _ in case.checkpoint.pins):
        return
    for problem in case.old.problems:
        if problem.code == LEFT_UNREAD:
            yield (
                f"{problem.message} From 2.0 on the awslabs connector takes such a shard for finished: an unedited "
                "query never reads them, without an error."
            )


def _elsewhere(job: Elsewhere) -> str:
    message = f"A query on {job.new} begins with the sequence numbers of {job.old}"
    return f"{message}, which {job.new} refuses: it fails."


class QuerySettings(Settings):
    options = {"--rewind-to": "rewind_to"}  # noqa: RUF012 - a class variable, as `Settings` declares it

    rewind_to: int | None = Field(default=None, ge=0, description="go back to this earlier batch")


def _began_as_told(plan: Plan, step: ReceiptStep, data: bytes, readers: Readers, checkpoint: str | None) -> list[Seen]:
    from offsetwise.plugins.spark.targets import verification  # noqa: PLC0415 - it reads, and a plan is drafted without

    return verification.began_as_told(plan, step, data, readers, checkpoint)


MOVING: Final = Moving(
    predict=_predict,
    parameters=QuerySettings,
    elsewhere=_elsewhere,
    ways=(_STARTING_OFFSETS,),
    starting_offsets=StartingOffsets(
        text=_option,
        suffix="json",
        mime="application/json",
        draft=_draft,
        about="For a query that starts anew and gives up its state: the text of the option `startingOffsets`.",
        objections=_objections,
        use='.option("startingOffsets", open("{0}").read())',
        began_as_told=_began_as_told,
    ),
    rewinding=REWINDING,
    stopped=_stopped,
)
