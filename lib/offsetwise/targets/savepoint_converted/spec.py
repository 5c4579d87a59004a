"""A copy of a Flink savepoint whose legacy consumer of Kinesis has become a KinesisStreamsSource."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.engines.flink.details import FlinkDetails
from offsetwise.engines.flink.engine import FLINK
from offsetwise.model import Comparison, Plan, Problem
from offsetwise.plan.recorded import edited
from offsetwise.plan.refusals import shards_unknown
from offsetwise.plan.target import Spec, Where
from offsetwise.plan.ways import Way
from offsetwise.streams.kinesis.spec import SPEC as STREAM
from offsetwise.targets.flink.kinesis.spec import against_places, arn_of, is_legacy, new_savepoint
from offsetwise.targets.flink.spec import START_FROM_COPY, STOP, against_savepoint, no_savepoint
from offsetwise.targets.kinesis.spec import against_other_shards, is_to_another_stream

_NAME: Final = "flink-savepoint-converted"


def _against(comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
    yield from against_savepoint(comparison, job, sink_rewound=sink_rewound)
    details = None if comparison.checkpoint is None else comparison.checkpoint.details
    if isinstance(details, FlinkDetails) and not is_legacy(details):
        told = "The savepoint has no state of the legacy FlinkKinesisConsumer."
        yield no_savepoint.problem(told, "Write to flink-savepoint: the source is the new one already.")


def _unfit(plan: Plan) -> Iterator[Problem]:
    yield from against_places(plan)
    if is_to_another_stream(plan.positions):
        yield from against_other_shards(plan.positions, "a copy of the savepoint")
    unknown = sorted({one.new_topic for one in plan.positions if arn_of(plan, one.new_topic) is None})
    if unknown:
        yield from shards_unknown(
            f"The ARN of stream {unknown[0]!r} is not known: the legacy consumer keeps its name alone, the stream was "
            "not asked, and --stream-arn does not name it."
        )
    yield from _against_said(plan)


def _against_said(plan: Plan) -> Iterator[Problem]:
    said = plan.savepoint
    if said is None:
        return
    if (said.uid, said.parallelism, said.max_parallelism) != (None, None, None):
        yield new_savepoint.problem(
            "Uid and parallelism are those of the legacy consumer in the savepoint.", "Give --stream-arn alone."
        )
    other = sorted(arn for one in plan.positions if (arn := arn_of(plan, one.new_topic)) not in (None, said.stream_arn))
    if other:
        yield new_savepoint.problem(
            f"The stream says that its ARN is {other[0]}, and --stream-arn is {said.stream_arn[:200]!r}.",
            "Leave --stream-arn out where the stream can be asked.",
        )


_WAY: Final = Way(
    name="savepoint-converted",
    engine=FLINK.name,
    order=20,
    target=_NAME,
    title="turn the legacy consumer's state into that of KinesisStreamsSource, in a copy",
    keeps=("the state of all other operators", "the positions, number by number", "the old savepoint"),
    gives_up=("nothing; the copy is no savepoint of the legacy consumer any more",),
    needs=(
        "the job is stopped with a savepoint in the canonical format",
        "a job whose KinesisStreamsSource has the uid of the legacy consumer",
        "the stream's ARN: from the stream itself, or --stream-arn where nobody can ask it",
        "producers that do not aggregate: the new source takes an aggregate for one record",
        "an empty folder under a write root",
    ),
    stop=STOP,
    start=START_FROM_COPY,
)
SPEC: Final = Spec(
    name=_NAME,
    label="Flink savepoint, its legacy consumer of Kinesis converted in a copy",
    where=Where.OUTPUT,
    ways=(_WAY,),
    against=_against,
    recorded=edited,
    keeps_state=True,
    any_stream=True,
    of_stream=STREAM.name,
    takes_savepoint=True,
    unfit=_unfit,
)
