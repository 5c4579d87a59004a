"""What a plan is called on every screen: its number, and the job as the migration file names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from offsetwise.console import answers
from offsetwise.console.reader import Offered
from offsetwise.console.widgets.escaping import cut
from offsetwise.store.review_rows import PlanRow

_CHECKPOINT: Final = "checkpoint "
_GROUP: Final = "group "
_TRANSACTIONS: Final = "transactions of "
_LONGEST: Final = 60


def plan_name(row: PlanRow) -> str:
    """Return the name of a plan, such as "Plan 1 · orders"."""
    return f"Plan {row.id} · {job_name(row, answers.current().offered)}"


def job_name(row: PlanRow, offered: Iterable[Offered]) -> str:
    """Return the short name of what a plan moves.

    Args:
        row: The plan.
        offered: The migrations of this console, whose names of checkpoints come before their folders'.
    """
    moves, before = row.moves, ""
    if moves.startswith(_TRANSACTIONS):
        moves, before = moves.removeprefix(_TRANSACTIONS), _TRANSACTIONS
    if moves.startswith(_CHECKPOINT):
        uri = moves.removeprefix(_CHECKPOINT)
        known = migration_of(row, offered)
        names = (name for name, at in (() if known is None else known.checkpoints) if _same(at, uri))
        found = next(names, uri.rpartition("/")[2] or uri)
    else:
        found = moves.removeprefix(_GROUP).rpartition(" on ")[0] or moves
    return shortened(f"{before}{found}")


def migration_of(row: PlanRow, offered: Iterable[Offered]) -> Offered | None:
    """Return the migration of a plan; None where this console was started without it."""
    return next((one for one in offered if one.name in (row.migration, f"{row.migration} (sample)")), None)


def shortened(name: str) -> str:
    """Shorten a name for a heading."""
    return cut(name, _LONGEST)


def _same(of_file: str, of_plan: str) -> bool:
    """Return whether two URIs name one checkpoint: a plan of a bundled sample has it relative to the sample."""
    here, there = of_file.rstrip("/"), of_plan.rstrip("/")
    return here == there or here.endswith(f"/{there.removeprefix('./')}")
