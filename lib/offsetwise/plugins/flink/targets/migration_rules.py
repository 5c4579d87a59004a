"""Rules for migrating Flink jobs.

The behaviour of an unedited restore is in `spec/flink-savepoints.md`, "On restore": nothing prevents it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings import Said, Stage, finding
from offsetwise.model import Comparison, GateCheck, Outcome, Plan, Prediction, RawVerdict, Severity
from offsetwise.plan.exports import whole_topics
from offsetwise.plan.moving import Elsewhere, Moving, StartingOffsets
from offsetwise.plan.predict import Rows, besides, by_numbers, damage, named
from offsetwise.plan.ways import Way
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.job_keys import FlinkJob
from offsetwise.plugins.flink.targets.spec import START_ANEW, STOP, whose_group
from offsetwise.wording import many

_BEGINS: Final = "The job is restored"
_NAMES_SINCE: Final = 5
"""First version of `_metadata` that contains the uids themselves."""


def _predict(comparison: Comparison, rows: Rows) -> Prediction:
    sources = () if comparison.checkpoint is None else comparison.checkpoint.sources
    if any(source.cluster is not None for source in sources):
        message = (
            "The coordinator of the DynamicKafkaSource keeps the old cluster's addresses: the job goes on reading the "
            "old cluster until its metadata service names other topics."
        )
        return besides(message, None)
    renamed = next((row for row in rows if row.new_topic != row.topic), None)
    outside = next((row for row in rows if row.raw.verdict is RawVerdict.OUT_OF_RANGE), None)
    if renamed is not None:
        message = (
            f"The positions of {renamed.topic} mean nothing to {renamed.new_topic}, which the job begins as its "
            "source's initializer says."
        )
        return besides(message, damage(rows, _BEGINS))
    if outside is not None:
        message = (
            f"{named(outside)} lies outside the new log. The job is restored without an error and follows "
            "auto.offset.reset: earliest, which most sources have set, reads the whole log again; latest skips to its "
            "end; none stops the job."
        )
        return besides(message, damage(rows, _BEGINS))
    return by_numbers(rows, _BEGINS)


def _words(plan: Plan) -> str:
    results: list[str] = []
    ordered = sorted(plan.positions, key=lambda position: (position.source, position.new_topic, position.partition))
    for source, together in groupby(ordered, key=lambda position: position.source):
        topics = list(whole_topics(plan, list(together), otherwise="Flink reads the others from their start"))
        name = "".join(letter for letter in source if letter.isprintable())
        for topic, offsets in topics:
            listed = ";".join(f"partition:{number},offset:{offset}" for number, offset in offsets)
            results += [
                f"-- SQL: options of the table that reads {topic} (source {name}), the only topic it reads",
                "'scan.startup.mode' = 'specific-offsets',",
                f"'scan.startup.specific-offsets' = '{listed}'",
                "",
            ]
        positions = [(topic, number, offset) for topic, offsets in topics for number, offset in offsets]
        java = ",\n".join(f'    Map.entry(new TopicPartition("{topic}", {n}), {at}L)' for topic, n, at in positions)
        python = ",\n".join(f'    KafkaTopicPartition("{topic}", {n}): {at}' for topic, n, at in positions)
        results += [
            f"// Java: setStartingOffsets of the KafkaSource {name}",
            f"OffsetsInitializer.offsets(Map.ofEntries(\n{java}), OffsetResetStrategy.NONE)",
            "",
            f"# Python: set_starting_offsets of the KafkaSource {name}",
            f"KafkaOffsetsInitializer.offsets({{\n{python}}}, KafkaOffsetResetStrategy.NONE)",
            "",
        ]
    return "\n".join(results)


def _stopped(plan: Plan) -> Iterator[GateCheck]:  # noqa: ARG001 - as above
    message = "No checkpoint or savepoint tells whether its job goes on: move the one that you stopped the job with."
    yield GateCheck(outcome=Outcome.UNKNOWN, name="job stopped", told=message)


@finding(
    code="NO_UID",
    severity=Severity.BLOCKS,
    title="Operators have no uid of their own",
    remedy="Edit the savepoint, or drop the source's state: --target flink-savepoint-without-sources.",
    rank=340,
    stage=Stage.PLAN,
)
def no_uid(comparison: Comparison, job: JobTraits) -> Iterator[Said]:
    checkpoint, of_flink = comparison.checkpoint, job.part(FlinkJob)
    if of_flink.sql:
        yield "It is a SQL job, whose operators get no uids: none can be changed."
    elif of_flink.uids is False:
        yield "Operators are stated to have no uids: another source may give them other ids, so that state is lost."
    if checkpoint is None or of_flink.sql or of_flink.uids is not None:
        return
    unnamed = [
        operator.name or operator.id
        for operator in flink_details(checkpoint).operators
        if operator.states and operator.uid is None
    ]
    if not unnamed:
        return
    if flink_details(checkpoint).saved.format_version >= _NAMES_SINCE:
        yield (
            f"Operator {unnamed[0]} has no uid: its id is made from the job's graph, and another source may make it "
            "another one, so that its state is lost."
        )
    else:
        message = f"It is not known whether all operators have uids: the savepoint holds hashes only ({unnamed[0]})."
        yield message, "Look into the job's code, and state `uids`."


def _uids(comparison: Comparison, job: JobTraits) -> Iterator[str]:
    named_there = comparison.checkpoint is not None and any(
        operator.uid is not None for operator in flink_details(comparison.checkpoint).operators
    )
    of_flink = job.part(FlinkJob)
    if of_flink.sql is None and not named_there:
        yield "Is it a SQL job? Its operators get no uids. (`sql`)"
    if of_flink.uids is None and not named_there and not of_flink.sql:
        yield "Has every operator with state a uid of its own? (`uids`)"
    yield from whose_group(comparison, job)


_NEW_UID: Final = Way(
    name="new-operator-uid",
    order=60,
    target="consumer-group",
    instead_of="consumer-group",
    title="new operator uid, group offsets",
    keeps=("the state of all other operators", "the positions"),
    gives_up=("the state of the source",),
    needs=(
        "a job in code that sets uids: SQL cannot, but where a vendor's connector has the option `restore.mode`, which "
        "restores with the group's offsets and the uids as they are",
        "a new uid for the source, which starts at `OffsetsInitializer.committedOffsets()`",
        "a group without members, and a start before its offsets expire",
    ),
    objections=no_uid,
    questions=_uids,
    stop=STOP,
    start=("flink run -s SAVEPOINT --allowNonRestoredState JOB",),
)
_STARTING_OFFSETS: Final = Way(
    name="fresh-starting-offsets",
    order=95,
    target="starting-offsets",
    title="ignore the old state, specific offsets",
    keeps=("the positions",),
    gives_up=("the state",),
    needs=(
        "a start without savepoint",
        "a source that starts where the file says, in the words of SQL, Java or Python",
    ),
    stop=STOP,
    start=START_ANEW,
)


def _elsewhere(job: Elsewhere) -> str:
    """Describe the effect for the two sources, of which only the newer one has the stream's ARN in its state."""
    if not any((at.stream or "").startswith("arn:") for source in job.checkpoint.sources for at in source.shards):
        return f"A restore with the name {job.new} begins every shard there at its oldest record: all are read again."
    above = sum(number > job.highest for number in job.numbers)
    return (
        f"A restore with the ARN of {job.new} goes on reading {job.old}, without a warning, and of the "
        f"{many(len(job.numbers), 'shard')} of {job.new} only {above:,}, those with numbers above "
        f"{job.highest}: the others are never read. With the old stream deleted, its shards count as finished."
    )


MOVING: Final = Moving(
    predict=_predict,
    elsewhere=_elsewhere,
    ways=(_NEW_UID, _STARTING_OFFSETS),
    starting_offsets=StartingOffsets(
        text=_words,
        suffix="txt",
        mime="text/plain",
        draft=lambda text, message: f"-- {message}\n{text}",
        about="For a job that starts anew and gives up its state: the words of SQL, Java and Python.",
        by_source=True,
        evidence_of_start="where a Flink job began, its next savepoint tells",
    ),
    stopped=_stopped,
)
