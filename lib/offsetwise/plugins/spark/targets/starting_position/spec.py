"""A file for the option `startingposition` of both Spark connectors: JSON, in the form of their own offset logs.

Both parse it as a line of `offsets/`: every value is a string, and `metadata` with a batch and the stream is required.
awslabs fails without `isLast`, although the example in its source has none; qubole ignores it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, Plan, PlannedPosition, Problem, ReceiptStep, TopicPartition
from offsetwise.plan.moving import StartingOffsets
from offsetwise.plan.recorded import made_text
from offsetwise.plan.refusals import place_not_held, shards_unknown, sources
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plan.ways import Way
from offsetwise.plugins.kinesis.stream.spec import SPEC as STREAM
from offsetwise.plugins.kinesis.stream.spec import Place, ShardPlace, at, shard_id
from offsetwise.plugins.spark.targets.kinesis.spec import entry_of, place_of
from offsetwise.plugins.spark.targets.sink import batch_ids

_NAME: Final = "starting-position"
_HOLDER: Final = "the option `startingposition`"


def starting_position(plan: Plan) -> str:
    """Return the file's text: every shard that is not read to its end, of one stream."""
    stream = min((position.new_topic for position in plan.positions), default="")
    shards = {
        shard_id(planned_position.partition): entry_of(new_position)
        for planned_position in sorted(plan.positions, key=lambda position: position.partition)
        if (new_position := _place_of(planned_position)) is not None and new_position.place is not Place.SHARD_END
    }
    body = {"metadata": {"streamName": stream, "batchId": "0"}, **shards}
    return json.dumps(body, separators=(",", ":")) + "\n"


def fitting_position(plan: Plan) -> str:
    """Return the file's text for a plan that it can express.

    Raises:
        ApplyError: It cannot express the plan.
    """
    TYPE.require_fit(plan, "The startingposition")
    return starting_position(plan)


def _place_of(position: PlannedPosition) -> ShardPlace | None:
    """Return where a shard begins; None if one of the two connectors cannot express it."""
    new_position = place_of(position)
    return None if new_position is None or new_position.sub is not None else new_position


def _why(position: PlannedPosition) -> str:
    if isinstance(position.new_offset, ShardPlace) and position.new_offset.sub is not None:
        again = at(position.new_offset.sequence or 0)
        return f"the qubole connector would skip the rest of the aggregate; {again} reads all of it again"
    return "that names no record and no time"


_WAY: Final = Way(
    name="starting-position",
    order=105,
    target=_NAME,
    title="begin a Spark query at the positions, without its state",
    keeps=("the positions, number by number", "what they were read from"),
    gives_up=("the state", "the query id and batch ids: a sink that remembers ids ignores the first batches"),
    needs=(
        "an empty checkpoint folder: with a batch in it the option is ignored",
        "the query's option `startingposition`, of awslabs `kinesis.startingposition`, set to the file's text",
    ),
)


class StartingPositionTarget(OutputTarget):
    name = _NAME
    label = "startingposition file"
    role = TargetRole.START
    streams = frozenset({STREAM.name})
    ways = (_WAY,)
    start = StartingOffsets(
        name=_NAME,
        text=fitting_position,
        suffix="json",
        mime="application/json",
        draft=lambda text, message: f"{message}\n{text}",
        about="For a query that begins with an empty checkpoint folder: the text of the option `startingposition`.",
        use='.option("startingposition", open("{0}").read())  # qubole\n'
        '.option("kinesis.startingposition", open("{0}").read())  # awslabs',
    )

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        # A sink has seen no batch of a job that never worked in batches.
        if comparison.checkpoint is not None and comparison.checkpoint.details.progress.planned is not None:
            yield from batch_ids(job, sink_rewound=sink_rewound, what="A fresh checkpoint begins at batch 0 again")

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        yield from made_text(step, starting_position(plan))

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        for planned_position in plan.positions:
            if _place_of(planned_position) is None:
                yield from place_not_held(
                    planned_position.new_topic_partition, planned_position.new_offset, _HOLDER, _why(planned_position)
                )
        if len({(position.source, position.new_topic) for position in plan.positions}) > 1:
            yield sources.problem("It is of one stream, and the positions are of several.")
        planned = {position.new_topic_partition for position in plan.positions}
        missing = [
            f"{shard_id(shard.partition)} of {topic.name!r}"
            for topic in plan.requirements.new.topics
            for shard in topic.shards
            if not shard.closed and TopicPartition(topic.name, shard.partition) not in planned
        ]
        if missing:
            yield from shards_unknown(
                f"{missing[0]} is open, and the plan has no position for it: the query would begin it at its start's "
                "time."
            )


TYPE: Final = StartingPositionTarget()
