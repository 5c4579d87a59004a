"""A Flink savepoint made of positions alone, of any engine: one source of Kinesis and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from offsetwise.findings import Stage, finding
from offsetwise.lookalikes import invisible
from offsetwise.model import NewSavepoint, Plan, Problem, ReceiptStep, Severity
from offsetwise.plan.recorded import made
from offsetwise.plan.refusals import sources
from offsetwise.plan.ways import Way
from offsetwise.streams.kinesis.spec import SPEC as STREAM
from offsetwise.streams.kinesis.spec import stream_name
from offsetwise.targets.flink.kinesis.spec import against_splits
from offsetwise.targets.spec import Spec, Where
from offsetwise.wording import number

_NAME: Final = "flink-savepoint-from-positions"
_ARN: Final = re.compile(r"arn:[a-z0-9-]{1,32}:[a-z]+:[a-z0-9-]{1,32}:[0-9]{12}:stream/[A-Za-z0-9_.-]{1,128}")
_MOST: Final = 32_768
"""Flink's own limit of parallelism."""
_LONGEST_UID: Final = 255


def _unfit(plan: Plan) -> Iterator[Problem]:
    if plan.savepoint is None:
        yield new_savepoint.problem("Of which source the savepoint is to be is not said.")
        return
    yield from new_savepoint(plan.savepoint, tuple(sorted({one.new_topic for one in plan.positions})))
    read = {one.source for one in plan.positions}
    if len(read) > 1:
        yield sources.problem(f"It holds one source, and the positions are of {len(read)}.")
    yield from against_splits(plan)


@finding(
    code="NEW_SAVEPOINT",
    severity=Severity.BLOCKS,
    title="What a savepoint is to be made for is missing, or cannot be",
    remedy="Say it as in the job's code: --uid UID --stream-arn ARN --parallelism N --max-parallelism N.",
    rank=360,
    stage=Stage.PLAN,
)
def new_savepoint(asked: NewSavepoint, streams: tuple[str, ...]) -> Iterator[str]:
    """A job takes a savepoint by the uid of its source, its ARN and its maximum parallelism."""
    uid, arn = asked.uid or "", asked.stream_arn
    if not uid.strip() or len(uid) > _LONGEST_UID or invisible(uid):
        yield f"Expected the source's uid, up to {_LONGEST_UID} characters that can be seen, found {uid[:80]!a}."
    elif "/" in uid or "\\" in uid:
        yield f"Expected the source's uid as the job's code sets it, found {uid[:80]!r}, which is a path."
    name = stream_name(arn) if _ARN.fullmatch(arn) else None
    if name is None:
        yield f"Expected the ARN of a stream, arn:aws:kinesis:REGION:ACCOUNT:stream/NAME, found {arn[:200]!r}."
    elif streams != (name,):
        yield f"The ARN is of stream {name!r}, and the positions are of {', '.join(map(repr, streams)) or 'none'}."
    if not 1 <= (asked.parallelism or 0) <= (asked.max_parallelism or 0) <= _MOST:
        yield (
            f"Expected a parallelism up to the maximum parallelism, and that up to {_MOST:,}, found "
            f"{number(asked.parallelism)} and {number(asked.max_parallelism)}."
        )


def _recorded(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG001 - as every target's
    yield from made(step, {"_metadata": None})


_WAY: Final = Way(
    name="savepoint-from-positions",
    order=110,
    target=_NAME,
    title="make a Flink savepoint of positions alone",
    keeps=("the positions, number by number", "what they were read from"),
    gives_up=("all state but the positions: every other operator of the job starts empty",),
    needs=(
        "a Flink job whose KinesisStreamsSource has a uid",
        "--uid, --stream-arn, --parallelism and --max-parallelism as in the job's code",
        "a job of that maximum parallelism",
    ),
    options=" --uid UID --stream-arn ARN --parallelism N --max-parallelism N",
    elsewhere="This page does not ask which source of which job it is for",
    start=("flink run -s DIR JOB",),
)
SPEC: Final = Spec(
    name=_NAME,
    label="Flink savepoint, made of positions alone",
    where=Where.OUTPUT,
    ways=(_WAY,),
    recorded=_recorded,
    any_stream=True,
    of_stream=STREAM.name,
    takes_savepoint=True,
    unfit=_unfit,
)
