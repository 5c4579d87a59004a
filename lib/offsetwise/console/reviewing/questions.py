"""What the Review screen asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from offsetwise.console.desk import Reader
from offsetwise.model import Plan
from offsetwise.plan.drift import Drift
from offsetwise.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftOf:
    """What has changed on the clusters since this plan was drafted?"""

    in_sample: ClassVar[bool] = False
    """Of the sample too only when a person asks: what was looked at is looked at on purpose."""
    migration: str
    digest: str
    plan: Plan = field(compare=False)
    """The digest names it."""

    def ask(self, reader: Reader, progress: Progress) -> tuple[Drift, ...]:
        """Look."""
        return reader.drift(self.plan, progress)
