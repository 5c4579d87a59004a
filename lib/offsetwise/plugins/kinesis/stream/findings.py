"""Findings on positions of Kinesis, whichever engine stores them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from offsetwise.findings.case import Case, MigrationCase, partition_of
from offsetwise.findings.register import Fact, Stage, finding
from offsetwise.model import AnyPosition, Problem, Severity, TopicPartition, TopicState
from offsetwise.plugins.kinesis.stream.numbers import NumberEvidence, evidence_of, moment
from offsetwise.plugins.kinesis.stream.spec import ShardPlace, in_several, sequence_number
from offsetwise.wording import duration, many


def held_by(case: MigrationCase, shards: Collection[TopicPartition]) -> str:
    """Describe how much shards of the old stream hold, by their oldest records; "" if the shards were not listed.

    If a number contains no time, as an emulator's, it is what the stream retains.
    """
    topics = {topic.name: topic for topic in case.old.topics if topic.id is not None}
    starts = {
        TopicPartition(topic.name, partition.partition): partition.log_start
        for topic in topics.values()
        for partition in topic.partitions
    }
    spans = []
    for at in shards:
        start = starts.get(at)
        if not isinstance(start, ShardPlace):
            continue
        evidence = None if start.sequence is None else evidence_of(start.sequence)
        retained = dict(topics[at.topic].config).get("retention.ms")
        if evidence is not None:
            spans.append(max(0, case.now_ms - evidence.arrived_s * 1000))
        elif retained is not None:
            spans.append(int(retained))
    if not spans:
        return ""
    subject = "it holds" if len(shards) == 1 else f"the {len(shards):,} shards hold"
    return f"When the stream was read, {subject} the records of up to {duration(max(spans))}."


@finding(
    code="SEQUENCE_FOREIGN",
    severity=Severity.BLOCKS,
    title="The sequence number is of another stream",
    remedy="Find out which stream was read, and name that one as the job's `stream`. Of a stream that was deleted and "
    "made again no position holds: start the job at TRIM_HORIZON, without its old state.",
    rank=1050,
    stage=Stage.READER,
)
def sequence_foreign(shard: str, position: ShardPlace, evidence: NumberEvidence, born_s: int) -> Iterator[str]:
    """The shard's creation time in a number differs from that in the shard's first number."""
    yield (
        f"Shard {shard} is at {position}, a number of a shard made at {moment(evidence.born_s)}, and its first number "
        f"says that it was made at {moment(born_s)}: the number is of another stream, or of one that was deleted since."
    )


@finding(
    code="SEQUENCE_OTHER_SHARD",
    severity=Severity.BLOCKS,
    title="The sequence number is of another shard",
    remedy="Restore the checkpoint from a copy: Kinesis refuses the number in this shard.",
    rank=1060,
    stage=Stage.READER,
)
def sequence_other_shard(shard: str, position: ShardPlace, evidence: NumberEvidence) -> Iterator[str]:
    yield f"Shard {shard} is at {position}, a number that names shard {evidence.shard}."


@finding(
    code="STREAM_DIFFERS",
    severity=Severity.BLOCKS,
    title="A source has positions in another stream",
    remedy="Find out which stream the job shall read; a new name in the job's code does not move its positions.",
    rank=1070,
    stage=Stage.READER,
)
def stream_differs(label: str, names: Sequence[str], effect: str) -> Iterator[str]:
    yield f"{label} has positions in {many(len(names), 'stream')}: {', '.join(names)}. {effect}"


def _since_written(case: MigrationCase) -> str:
    written_ms = None if case.checkpoint is None else case.checkpoint.details.written_ms
    if written_ms is None:
        return ""
    return f"When the clusters were read, that was {duration(max(0, case.now_ms - written_ms))} of records."


@finding(
    code="STATE_EMPTY",
    severity=Severity.BLOCKS,
    title="The state of a source has no position",
    remedy="Start from an earlier checkpoint or savepoint that has them.",
    rank=1080,
    stage=Stage.READER,
    amount=_since_written,
)
def state_empty(label: str, effect: str) -> Iterator[str]:
    yield f"{label} keeps no shard at all. {effect}"


@finding(
    code="PARENT_UNREAD",
    severity=Severity.BLOCKS,
    title="A closed shard was left before its end",
    remedy="Read the shard from that position to its end with another job, as long as the stream retains it. The "
    "checkpoint can be moved as soon as its query has deleted the batch before "
    "(spark.sql.streaming.minBatchesToRetain).",
    rank=1090,
    stage=Stage.READER,
)
def parent_unread(shard: str, position: ShardPlace, batch: int, after: int) -> Iterator[str]:
    yield (
        f"Shard {shard} was at {position} after batch {batch}, and batch {after} was planned without it: what it held "
        "behind that position was never read. The connector does so with a shard that was closed while the job was "
        "down (awslabs 2.0 and later, issue 65)."
    )


@finding(
    code="POSITIONS_ELSEWHERE",
    severity=Severity.BLOCKS,
    title="The positions stand in another place",
    remedy="Name the table of the DynamoDB committer with --committer-table.",
    rank=1100,
    stage=Stage.READER,
)
def positions_elsewhere(batch: int, folder: str) -> Iterator[str]:
    yield (
        f"Batch {batch} is committed, and {folder} is not there: the ends of its shards are in a DynamoDB table, or in "
        "another folder that the job names. No position is told."
    )


@finding(
    code="TABLE_SHARED",
    severity=Severity.BLOCKS,
    title="A table holds positions of several jobs",
    remedy="Give each application or query a table of its own.",
    rank=1110,
    stage=Stage.READER,
)
def table_shared(message: str) -> Iterator[str]:
    yield message


@finding(
    code="INSIDE_AGGREGATE",
    severity=Severity.WARNS,
    title="The position is inside an aggregate",
    remedy="Write to what keeps sub-sequence numbers, such as kcl-leases:APPLICATION, or decide that the whole "
    "aggregate is read again: --override topic:shard=at:NUMBER --reason TEXT.",
    rank=1000,
    stage=Stage.READER,
)
def inside_aggregate(shard: str, position: ShardPlace, count: int | None = None) -> Iterator[str]:
    yield (
        f"Shard {shard} is at {position}: of this aggregate{'' if count is None else f' of {count:,} user records'} "
        f"the user records up to {position.sub} are processed. An engine without sub-sequence numbers reads it again "
        "from its first, or loses the rest."
    )


@finding(
    code="CHILD_MISSING",
    severity=Severity.WARNS,
    title="No child of an ended shard is named",
    remedy="Compare with the stream's shards: the engine must find the children again, and begin them at their oldest.",
    rank=1010,
    stage=Stage.READER,
)
def child_missing(shard: str, missing: Sequence[str]) -> Iterator[str]:
    named = f"its children {', '.join(missing)} are not" if missing else "no child of it is"
    yield f"Shard {shard} is read to its end, and {named} named."


@finding(
    code="CHILD_AHEAD",
    severity=Severity.WARNS,
    title="A child is read while its parent has records left",
    remedy="Nothing, where the order of records of one key does not matter; else read the parent to its end first.",
    rank=1020,
    stage=Stage.READER,
)
def child_ahead(shard: str, parent: str, position: ShardPlace) -> Iterator[str]:
    yield f"Shard {shard} is read already, while its parent {parent} is at {position} and not at its end."


@finding(
    code="HASH_RANGE_GAP",
    severity=Severity.WARNS,
    title="The shards do not cover all hash keys",
    remedy="Compare with the stream's shards: records whose keys fall into the gap have no position.",
    rank=1030,
    stage=Stage.READER,
)
def hash_range_gap(low: int, high: int) -> Iterator[str]:
    yield f"No shard that is read on has the hash keys from {low} to {high}."


@finding(
    code="SEQUENCE_LAYOUT",
    severity=Severity.INFORMS,
    title="A sequence number has an unknown layout",
    remedy="Nothing, of an emulator or a number of 2014; else compare the number with the stream.",
    rank=790,
    stage=Stage.READER,
)
def sequence_layout(shard: str, position: ShardPlace, more: int) -> Iterator[str]:
    others = f", and {many(more, 'shard')} more" if more else ""
    yield (
        f"Shard {shard} is at {position}{others}: the number has another layout than those of Kinesis since 2014, so "
        "it does not tell its shard or its time."
    )


@finding(
    code="CHILDREN_WAIT",
    severity=Severity.INFORMS,
    title="Children wait for the end of their parent",
    remedy="Nothing: they begin at their oldest record when the parent is read to its end.",
    rank=800,
    stage=Stage.READER,
)
def children_wait(parent: str, position: ShardPlace, children: Sequence[str]) -> Iterator[str]:
    yield f"{', '.join(children)} begin at their oldest record when their parent {parent}, now at {position}, is read."


@finding(
    code="STREAM_NOT_ASKED",
    severity=Severity.WARNS,
    title="The stream gave no answer",
    remedy="Give the environment credentials and a way to Kinesis, and compare again; or go on without that check.",
    rank=400,
    stage=Stage.READER,
)
def stream_not_asked(why: str) -> Iterator[str]:
    yield f"The stream was not asked: expired positions and shards that are gone were not seen. {why}"


@finding(
    code="AGGREGATED",
    severity=Severity.WARNS,
    title="Producers aggregate records",
    remedy="Stay with an engine that takes aggregates apart: the KCL, Spark's connectors, Flink's legacy consumer.",
    rank=420,
    stage=Stage.READER,
)
def aggregated(stream: str, shards: Sequence[str], where: str = "the oldest records") -> Iterator[str]:
    if shards:
        more = f" and {many(len(shards) - 1, 'more shard')}" if len(shards) > 1 else ""
        yield (
            f"Stream {stream!r} holds aggregates of the Kinesis Producer Library: {where} of {shards[0]}{more} show it."
        )


def not_of_this_stream(shard: str, position: ShardPlace, said: str) -> Iterator[Problem]:
    yield sequence_foreign.problem(f"Shard {shard} is at {position}, which the stream refuses. {said}")


@finding(
    code="CLOSED_SHARD_UNREAD",
    severity=Severity.WARNS,
    title="A closed shard has records behind its position",
    remedy="Write to what names every shard, such as starting-position: Spark's awslabs connector 2.0 and later never "
    "reads on a closed shard of its checkpoint.",
    rank=410,
    stage=Stage.READER,
)
def closed_shard_unread(shard: str, position: ShardPlace, count: int, *, more: bool) -> Iterator[str]:
    if count:
        least = "at least " if more else ""
        yield f"Shard {shard} is closed, and {least}{many(count, 'record')} lie behind its position {position}."


@finding(
    code="SHARD_GONE",
    severity=Severity.BLOCKS,
    title="The stream does not list the shard any more",
    remedy="Find out by the time of the position what was lost, and decide in writing that the shard is at its end, so "
    "that its children begin at their oldest record: --override topic:shard=SHARD_END --reason TEXT. Of a stream that "
    "was deleted and made again no position holds: start the job without its old state.",
    rank=1150,
    overridable=True,
    stream="kinesis",
    needs={Fact.POSITION},
)
def shard_gone(case: Case) -> Iterator[str]:
    position, topic = case.row.old_offset, case.old_topic
    listed = topic is not None and topic.error is None and topic.id is not None
    is_gone = listed and partition_of(topic, case.row.partition) is None
    if is_gone and isinstance(position, ShardPlace) and not in_several(position):
        evidence = None if position.sequence is None else evidence_of(position.sequence)
        since = "" if evidence is None else f" What arrived in it after {moment(evidence.arrived_s)} is gone."
        yield (
            f"Stream {case.row.topic!r} lists no shard {case.row.partition}, whose position is {position}. The KCL and "
            f"Flink take such a shard for finished, without an error.{since}"
        )


@finding(
    code="SEQUENCE_EXPIRED",
    severity=Severity.BLOCKS,
    title="The stream no longer has the record behind the position",
    remedy="Decide in writing to go on with the oldest record: --override topic:shard=TRIM_HORIZON --reason TEXT.",
    rank=1160,
    overridable=True,
    stream="kinesis",
    needs={Fact.POSITION},
)
def sequence_expired(case: Case) -> Iterator[str]:
    position, topic = case.row.old_offset, case.old_topic
    if not isinstance(position, ShardPlace) or topic is None or topic.id is None:
        return
    starts = {partition.partition: partition.log_start for partition in topic.partitions}
    for number, shard_position in position.of or ((case.row.partition, position),):
        for message in _expired(case, topic, shard_position, starts.get(number)):
            yield message if shard_position is position else f"Of shard {number}, {message}"


def _expired(case: Case, topic: TopicState, position: ShardPlace, start: AnyPosition | None) -> Iterator[str]:
    if position.sequence is None:
        return
    number = evidence_of(position.sequence)
    oldest = evidence_of(start.sequence) if isinstance(start, ShardPlace) and start.sequence is not None else None
    if number is not None and oldest is not None and number.born_s != oldest.born_s:
        return  # it is of another stream, and tells nothing about the retention of this one
    if isinstance(start, ShardPlace) and start.sequence is not None and position < start:
        apart = "" if number is None or oldest is None else f", {oldest.arrived_s - number.arrived_s:,} seconds later"
        first = f"the oldest record of the shard, {start}{apart}"
        yield f"{position} lies before {first}: records between them may be gone."
        return
    retention_ms = dict(topic.config).get("retention.ms")
    age_ms = 0 if number is None else case.now_ms - number.arrived_s * 1000
    if retention_ms is not None and age_ms > int(retention_ms):
        yield (
            f"{position} is of a record that arrived at {moment(number.arrived_s if number else 0)}, and the stream "
            f"retains {int(retention_ms) // 3_600_000:,} hours: what arrived behind it until then may be gone."
        )


def born_otherwise(shard: str, position: ShardPlace, first: str | None) -> Iterator[Problem]:
    number = None if first is None else sequence_number(first)
    birth = None if number is None else evidence_of(number)
    evidence = None if position.sequence is None else evidence_of(position.sequence)
    if birth is not None and evidence is not None and birth.born_s != evidence.born_s:
        yield from sequence_foreign(shard, position, evidence, birth.born_s)
