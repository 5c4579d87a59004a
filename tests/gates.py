"""How much of a gate is tried: all of it by `make gates`, a twentieth by `make test` and `make proof`."""

from __future__ import annotations

import os
from typing import Final

FULL: Final = os.environ.get("OFFSETWISE_GATES") == "full"
PART: Final = 1 if FULL else 20
"""One of so many is tried."""
