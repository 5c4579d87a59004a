"""How much of a gate is tried: all of it by `make gates`, a twentieth by `make test` and `make proof`."""

from __future__ import annotations

import os
from typing import Final, TypeVar

Case = TypeVar("Case")

FULL: Final = os.environ.get("OFFSETWISE_GATES") == "full"
PART: Final = 1 if FULL else 20
"""One of so many is tried."""


def of_all(*cases: Case, others: tuple[Case, ...]) -> tuple[Case, ...]:
    """Return the cases that are always tried, and in full the others as well: older releases, further combinations."""
    return (*cases, *others) if FULL else cases
