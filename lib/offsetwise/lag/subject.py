"""Whose lag is watched."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import LagSample, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSubject(Subject):
    """A checkpoint or a group of a migration."""

    migration: str

    @classmethod
    def of(cls, sample: LagSample) -> LagSubject:
        """Return the subject of a sample."""
        return cls.in_migration(sample.migration, Subject.either(checkpoint=sample.checkpoint, group=sample.group))

    @classmethod
    def in_migration(cls, migration: str, subject: Subject) -> LagSubject:
        """Return a subject of one migration."""
        return cls(migration=migration, kind=subject.kind, name=subject.name)
