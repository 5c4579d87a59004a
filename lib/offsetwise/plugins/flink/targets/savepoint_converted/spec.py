from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, NewSavepoint, Plan, Problem
from offsetwise.plan.refusals import shards_unknown
from offsetwise.plan.settings import Recorded
from offsetwise.plan.ways import Way
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.flink.engine.engine import FLINK
from offsetwise.plugins.flink.targets.kinesis.settings import StreamSettings, stated
from offsetwise.plugins.flink.targets.kinesis.spec import against_places, arn_of, is_legacy, new_savepoint
from offsetwise.plugins.flink.targets.spec import (
    START_FROM_COPY,
    STOP,
    SavepointCopyTarget,
    no_savepoint,
)
from offsetwise.plugins.kinesis.stream.spec import SPEC as STREAM
from offsetwise.plugins.kinesis.targets.spec import against_other_shards, is_to_another_stream

_NAME: Final = "flink-savepoint-converted"


def _against_said(plan: Plan) -> Iterator[Problem]:
    said = plan.savepoint
    if said is None:
        return
    other = sorted(
        arn for position in plan.positions if (arn := arn_of(plan, position.new_topic)) not in (None, said.stream_arn)
    )
    if other:
        yield new_savepoint.problem(
            f"The stream says that its ARN is {other[0]}, and --set stream_arn is {said.stream_arn[:200]!r}.",
            fix="Leave --set stream_arn out where the stream can be asked.",
        )


_WAY: Final = Way(
    name="savepoint-converted",
    engine=FLINK.name,
    order=20,
    target=_NAME,
    title="turn the legacy consumer's state into that of KinesisStreamsSource, in a copy",
    keeps=("the state of all other operators", "the positions, number by number", "the old savepoint"),
    gives_up=("nothing; the copy is no longer a savepoint of the legacy consumer",),
    needs=(
        "the job is stopped with a savepoint in the canonical format",
        "a job whose KinesisStreamsSource has the uid of the legacy consumer",
        "the stream's ARN: from the stream itself, or --set stream_arn=ARN where nobody can ask it",
        "producers that do not aggregate: the new source takes an aggregate for one record",
        "an empty folder under a write root",
    ),
    stop=STOP,
    start=START_FROM_COPY,
)


class SavepointConvertedTarget(SavepointCopyTarget):
    name = _NAME
    label = "Flink savepoint, its legacy consumer of Kinesis converted in a copy"
    streams = frozenset({STREAM.name})
    parameters = StreamSettings
    ways = (_WAY,)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        yield from super().objections(comparison, job, sink_rewound=sink_rewound)
        details = None if comparison.checkpoint is None else comparison.checkpoint.details
        if isinstance(details, FlinkDetails) and not is_legacy(details):
            message = "The savepoint has no state of the legacy FlinkKinesisConsumer."
            yield no_savepoint.problem(message, fix="Write to flink-savepoint: the source is the new one already.")

    def stated(self, created: NewSavepoint | None) -> Recorded:
        return stated(created)

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        yield from against_places(plan)
        if is_to_another_stream(plan.positions):
            yield from against_other_shards(plan.positions, "a copy of the savepoint")
        unresolved = sorted(
            {position.new_topic for position in plan.positions if arn_of(plan, position.new_topic) is None}
        )
        if unresolved:
            yield from shards_unknown(
                f"The ARN of stream {unresolved[0]!r} is not known: the legacy consumer keeps its name alone, the "
                "stream was not asked, and --set stream_arn does not name it."
            )
        yield from _against_said(plan)


TYPE: Final = SavepointConvertedTarget()
