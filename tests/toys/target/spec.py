"""A folder with the positions as a CSV."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep
from offsetwise.plan.recorded import made
from offsetwise.plan.target import Spec, Where
from offsetwise.plan.ways import Way

NAME: Final = "toy-csv"
FILE: Final = "positions.csv"


def csv(plan: Plan) -> bytes:
    """Give the file's bytes."""
    return "".join(f"{one.new_topic},{one.partition},{one.new_offset}\n" for one in plan.positions).encode()


def _against(
    comparison: Comparison,  # noqa: ARG001 - as every target's
    job: JobTraits,  # noqa: ARG001 - as above
    *,
    sink_rewound: bool,  # noqa: ARG001 - as above
) -> Iterator[Problem]:
    yield from ()


def _recorded(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG001 - as above
    yield from made(step, {FILE: sha256(csv(plan)).hexdigest()})


SPEC: Final = Spec(
    name=NAME,
    label="CSV of positions",
    where=Where.OUTPUT,
    ways=(
        Way(
            name="toy",
            order=15,
            target=NAME,
            title="positions for a tool of one's own",
            keeps=("the positions",),
            gives_up=("the state",),
            needs=("a tool that reads them",),
        ),
    ),
    against=_against,
    recorded=_recorded,
    beside=True,
    any_stream=True,
)
