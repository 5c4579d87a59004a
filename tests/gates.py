"""How much of a gate is tried: all of it by `make gates`, a fortieth by `make test` and `make proof`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

Case = TypeVar("Case")

FULL: Final = os.environ.get("OFFSETWISE_GATES") == "full"
PART: Final = 1 if FULL else 40
"""One of so many is tried."""


def of_all(every: Sequence[Case], always: Sequence[Case]) -> Sequence[Case]:
    """Return every case in full, else those that are always tried: newest releases, combinations that differ most."""
    return every if FULL else always
