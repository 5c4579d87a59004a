from __future__ import annotations

import re
from typing import Final

from offsetwise.apply.digests import names_in
from offsetwise.apply.written import Guard, Names
from offsetwise.model import ReceiptStep
from offsetwise.plugins.spark.engine.later_batches import BATCH
from offsetwise.regular_files import below

_PLANNED: Final = re.compile(rf"offsets/(?:{BATCH.pattern})")
LOGS: Final = ("offsets", "commits")


def later_batch(step: ReceiptStep, names: Names) -> str | None:
    """Return a file of a batch newer than any that a step wrote; None if there is none.

    Args:
        step: The written target.
        names: The names in `offsets` and `commits`.
    """
    batches = [int(file.path[8:]) for file in step.files if file.sha256 is not None and _PLANNED.fullmatch(file.path)]
    newest = max(batches, default=-1)
    for log in LOGS:
        for name in names(log):
            if BATCH.fullmatch(name) and int(name) > newest:
                return f"{log}/{name}"
    return None


def ran_since(step: ReceiptStep, names: Names) -> str | None:
    """Describe a file that shows that a query has run on a checkpoint since a step wrote it; None if there is none."""
    later = later_batch(step, names)
    return None if later is None else f"a query has run on it since: {later} is there."


def ran_in_folder(step: ReceiptStep) -> str | None:
    return ran_since(step, lambda log: sorted(names_in(below(step.place, log))))


def batch_guard(step: ReceiptStep) -> str:
    """Return the path of the guard while a step is undone: newer than any batch that the step knows."""
    known = [int(file.path[8:]) for file in step.files if _PLANNED.fullmatch(file.path)]
    return f"offsets/{max(known, default=-1) + 1}"


def is_guard(path: str) -> bool:
    return _PLANNED.fullmatch(path) is not None


GUARD: Final = Guard(path=batch_guard, matches=is_guard)
