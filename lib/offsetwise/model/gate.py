"""The conditions of a start, and what an unedited one would do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a check went."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One condition of the start gate."""

    name: str
    outcome: Outcome
    told: str
    """One sentence with its numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the engine would do if it were started with the checkpoint unedited."""

    effect: str
    """`nothing`, `silent skip`, `replay`, `other records`, `exception` or `unknown`."""
    told: str
