"""A folder with the positions as a CSV."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from offsetwise.model import Plan, ReceiptStep
from offsetwise.plan.recorded import wrong_new_files
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plan.ways import Way

NAME: Final = "toy-csv"
FILE: Final = "positions.csv"


def csv(plan: Plan) -> bytes:
    """Return the file's bytes."""
    return "".join(f"{row.new_topic},{row.partition},{row.new_offset}\n" for row in plan.positions).encode()


class CsvTarget(OutputTarget):
    """The target."""

    name = NAME
    label = "CSV of positions"
    role = TargetRole.POSITIONS
    streams = frozenset()
    ways = (
        Way(
            name="toy",
            order=15,
            target=NAME,
            title="positions for a tool of one's own",
            keeps=("the positions",),
            gives_up=("the state",),
            needs=("a tool that reads them",),
        ),
    )

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG002 - as the port
        """Yield where a step has another file."""
        yield from wrong_new_files(step, {FILE: sha256(csv(plan)).hexdigest()})


TYPE: Final = CsvTarget()
