"""What the Fleet screen asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from offsetwise.console.desk import Reader
from offsetwise.fleet import Fleet
from offsetwise.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOf:
    """What do all checkpoints of this migration say?"""

    in_sample: ClassVar[bool] = True
    migration: str

    def ask(self, reader: Reader, progress: Progress) -> Fleet:
        """Find them and read them."""
        return reader.fleet(self.migration, progress)
