"""The positions file written again: the same shape, with the new offsets.

Its content follows from the plan alone: a plan names the source of each position by its shape and, if the file has
several groups, by the group. The lines are in the order of group, topic and partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.errors import ApplyError
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep
from offsetwise.plan.exports import against_gaps
from offsetwise.plan.recorded import made_text
from offsetwise.plan.refusals import no_checkpoint, sources
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plan.ways import Way
from offsetwise.plugins.positions.engine.engine import NAME as ENGINE
from offsetwise.plugins.positions.engine.json_shapes import SPARK
from offsetwise.plugins.positions.engine.shape import Row, Shape
from offsetwise.plugins.positions.engine.shapes import SHAPES, named
from offsetwise.position import offset_of

_NAME: Final = "positions-file"


def shape_of(plan: Plan) -> Shape:
    """Return the shape of the file that the positions of a plan were read from.

    Raises:
        ApplyError: They are not those of one such file.
    """
    from offsetwise.targets.moves import refused  # noqa: PLC0415 - the console loads this module, and nothing that writes

    names = {named(position.source)[0] for position in plan.positions}
    shape = SHAPES.get(min(names)) if len(names) == 1 else None
    if shape is None:
        raise refused(
            "positions file", f"positions of one shape in the plan, it names {', '.join(sorted(names))[:200]}"
        )
    return shape


def rows_of(plan: Plan) -> list[Row]:
    return sorted(
        Row(named(position.source)[1], position.new_topic, position.partition, offset_of(position.new_offset))
        for position in plan.positions
    )


def positions_text(plan: Plan) -> str:
    """Return the content of the file.

    Raises:
        ApplyError: The plan is not of a positions file, or its system accepts no offsets in that shape.
    """
    from offsetwise.targets.moves import refused  # noqa: PLC0415 - as above

    shape = shape_of(plan)
    if shape.text is None:
        raise refused("positions file", f"a shape that its system takes offsets in, the plan has {shape.name}")
    try:
        return shape.text(rows_of(plan))
    except ValueError as error:
        raise refused("positions file", f"positions that {shape.name} can say: {error}") from error


def command(plan: Plan, name: str) -> str:
    """Return the command by which the system of the shape accepts the file; empty if it accepts none."""
    shape = shape_of(plan)
    groups = sorted({row.group for row in rows_of(plan)} - {""})
    return "" if shape.use is None else shape.use(name, groups)


class PositionsFileTarget(OutputTarget):
    name = _NAME
    label = "positions file"
    role = TargetRole.POSITIONS
    ways = (
        Way(
            name=_NAME,
            engine=ENGINE,
            order=10,
            target=_NAME,
            title="the positions file with the new offsets",
            keeps=("the positions", "the shape of the file, for the system that takes it"),
            gives_up=("what the system keeps beside its positions, where it is set up anew",),
            needs=("a job that is stopped", "the system's own command, which the receipt names"),
        ),
    )

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        if comparison.engine != ENGINE:
            yield no_checkpoint.problem("The positions were read from no positions file, whose shape could be kept.")
            return
        for shape in sorted({named(row.source)[0] for row in comparison.partitions}):
            if shape in SHAPES and SHAPES[shape].text is None:
                yield sources.problem(
                    f"The positions have the shape {shape}, in which its system takes no offsets.",
                    fix="Write to a consumer group: --target consumer-group:NAME.",
                )

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        try:
            positions_text(plan)
        except ApplyError as error:
            yield sources.problem(error.problem, fix=error.fix)
            return
        if shape_of(plan) is SPARK:
            yield from against_gaps(plan)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        yield from made_text(step, positions_text(plan))


TYPE: Final = PositionsFileTarget()
