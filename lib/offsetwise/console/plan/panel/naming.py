from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from offsetwise.console import answers
from offsetwise.console.reader import Offered
from offsetwise.console.widgets.escaping import cut
from offsetwise.review.exports import Destination, job_of
from offsetwise.store.review_rows import PlanRow, SetRow
from offsetwise.wording import many

_LONGEST: Final = 60


def plan_name(row: PlanRow) -> str:
    return f"Plan {row.id} · {job_name(row, answers.current().offered)}"


def job_name(row: PlanRow, offered: Iterable[Offered]) -> str:
    """Return the short name of what a plan moves.

    Args:
        row: The plan.
        offered: The migrations of this console; their checkpoint names take precedence over folder names.
    """
    return shortened(job_of(row.moves, destination_of(row, offered).checkpoints))


def set_name(row: SetRow) -> str:
    of = many(len(row.members), "plan") if row.wave is None else f"wave {row.wave}"
    return f"Set {row.id} · {shortened(of)}"


def destination_of(row: PlanRow | SetRow, offered: Iterable[Offered]) -> Destination:
    """Return the destination in the plan's migration file; an empty one if the console has no such file."""
    names = (row.migration, f"{row.migration} (sample)")
    return next((migration.destination for migration in offered if migration.name in names), Destination())


def shortened(name: str) -> str:
    return cut(name, _LONGEST)
