from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import LagSample, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSubject(Subject):
    migration: str

    @classmethod
    def of(cls, sample: LagSample) -> LagSubject:
        return cls.in_migration(sample.migration, Subject.either(checkpoint=sample.checkpoint, group=sample.group))

    @classmethod
    def in_migration(cls, migration: str, subject: Subject) -> LagSubject:
        return cls(migration=migration, kind=subject.kind, name=subject.name)
