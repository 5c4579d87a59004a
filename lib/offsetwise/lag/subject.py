"""Whose lag is watched."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import LagSample


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSubject:
    """A checkpoint or a group of a migration, by their names in the migration file. One of both is given.

    >>> str(LagSubject(migration="orders-to-new", checkpoint="orders"))
    'checkpoint orders'
    """

    migration: str
    checkpoint: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        if (self.checkpoint is None) == (self.group is None):
            raise ValueError("expected either a checkpoint or a group")

    def __str__(self) -> str:
        return f"group {self.group}" if self.checkpoint is None else f"checkpoint {self.checkpoint}"

    @classmethod
    def of(cls, sample: LagSample) -> LagSubject:
        """Give the subject of a sample."""
        return cls(migration=sample.migration, checkpoint=sample.checkpoint, group=sample.group)
