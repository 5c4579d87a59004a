from __future__ import annotations

from pydantic import SerializeAsAny

from offsetwise.config import CheckpointConfig, JobTraits, Label, Location, SectionEntry
from offsetwise.model import Cluster


class PositionsConfig(SectionEntry):
    """One positions file of the migration, which is moved as a checkpoint of that name."""

    file: Location
    shape: Label | None = None
    """`SHAPE` or `SHAPE:WORD`; recognised where none is given."""
    job: SerializeAsAny[JobTraits] = JobTraits()
    belongs_to: Cluster | None = None
    """As of a checkpoint."""

    @property
    def checkpoint(self) -> CheckpointConfig:
        part = "positions" if self.shape is None else f"positions:{self.shape}"
        return CheckpointConfig(name=self.name, uri=f"{self.file}#{part}", job=self.job, belongs_to=self.belongs_to)
