"""Who is moved, in a word."""

from __future__ import annotations

from offsetwise.model import Subject, SubjectKind


def checkpoint(name: str) -> Subject:
    """Return a checkpoint by its name in the migration file."""
    return Subject(kind=SubjectKind.CHECKPOINT, name=name)


def group(name: str) -> Subject:
    """Return a consumer group of the old cluster."""
    return Subject(kind=SubjectKind.GROUP, name=name)
