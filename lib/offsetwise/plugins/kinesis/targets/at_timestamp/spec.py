"""The time at which a job begins every shard, if it cannot be given their positions: records are read again.

It is the time of the oldest record that a position is after, so that no unread record is older. Sequence numbers
contain whole seconds; one more is subtracted, because the hosts that received the records have clocks of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings.target_position import replay_not_tolerated
from offsetwise.model import Comparison, Plan, PlannedPosition, Problem, ReceiptStep, Start
from offsetwise.plan.moving import StartingOffsets
from offsetwise.plan.recorded import made_text
from offsetwise.plan.refusals import place_not_held, sources
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plan.ways import Way
from offsetwise.plugins.kinesis.stream.numbers import evidence_of, moment
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, ShardPlace, shard_id
from offsetwise.plugins.kinesis.stream.spec import SPEC as STREAM

_NAME: Final = "at-timestamp"
_HOLDER: Final = "a start at a time"
_APART_MS: Final = 1_000


def start_time(plan: Plan) -> str:
    """Return the file's text: the time, and for each shard how many seconds of records are read again."""
    times = {
        shard_id(position.partition): at_ms
        for position in plan.positions
        if (at_ms := _read_until_ms(position)) is not None
    }
    begin_ms = min(times.values(), default=0) - _APART_MS
    body = {
        "timestamp_ms": begin_ms,
        "timestamp": moment(begin_ms // 1000),
        "replay_seconds": {shard: (at_ms - begin_ms) // 1000 for shard, at_ms in sorted(times.items())},
    }
    return json.dumps(body, indent=2) + "\n"


def fitting_time(plan: Plan) -> str:
    """Return the file's text for a plan that it can express.

    Raises:
        ApplyError: It cannot express the plan.
    """
    TYPE.require_fit(plan, "The start time")
    return start_time(plan)


def _read_until_ms(position: PlannedPosition) -> int | None:
    """Return the arrival of the record that a shard is read up to; None if it is not known."""
    new_position = position.new_offset
    if not isinstance(new_position, ShardPlace) or position.start is Start.EARLIEST:
        return None
    evidence = None if new_position.sequence is None else evidence_of(new_position.sequence)
    return new_position.at_ms if evidence is None else evidence.arrived_s * 1000


_WAY: Final = Way(
    name="at-timestamp",
    order=115,
    target=_NAME,
    title="begin every shard at one time",
    keeps=("every unread record", "what the positions were read from"),
    gives_up=("the positions: of each shard as many seconds are read again as the file says", "the state"),
    needs=("a job without state that begins at AT_TIMESTAMP, with the time of the file", "one that tolerates replay"),
)


class AtTimestampTarget(OutputTarget):
    name = _NAME
    label = "start time"
    role = TargetRole.START
    streams = frozenset({STREAM.name})
    ways = (_WAY,)
    start = StartingOffsets(
        name="start-time",
        text=fitting_time,
        suffix="json",
        mime="application/json",
        draft=lambda text, message: f"{message}\n{text}",
        about="For a job without state that begins every shard at one time, `AT_TIMESTAMP`, and tolerates replay.",
    )

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        if job.tolerates_replay is not True:
            yield replay_not_tolerated.problem(
                "A start at one time reads records of every shard again, and the job is not stated to tolerate it.",
                fix="State `tolerates_replay: true` for the job, or write the positions: --target starting-position.",
            )

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        yield from made_text(step, start_time(plan))

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        for planned_position in plan.positions:
            if _read_until_ms(planned_position) is None and planned_position.new_offset != SHARD_END:
                why = "it does not tell when its record arrived"
                yield from place_not_held(
                    planned_position.new_topic_partition, planned_position.new_offset, _HOLDER, why
                )
        if len({(position.source, position.new_topic) for position in plan.positions}) > 1:
            yield sources.problem("It is of one stream, and the positions are of several.")


TYPE: Final = AtTimestampTarget()
