"""Who is moved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class SubjectKind(StrEnum):
    """What keeps the positions that are moved, as commands, addresses and files call it."""

    CHECKPOINT = "checkpoint"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who is moved: a checkpoint by its name in the migration file, or a consumer group of the old cluster.

    >>> str(Subject(kind=SubjectKind.CHECKPOINT, name="orders"))
    'checkpoint orders'
    """

    kind: SubjectKind
    name: str

    @staticmethod
    def either(*, checkpoint: str | None, group: str | None) -> Subject:
        """Take the one of both names that is given, as options, files and rows of the store have them.

        Raises:
            ValueError: Both are given, or neither.
        """
        if (checkpoint is None) == (group is None):
            raise ValueError("expected either a checkpoint or a group")
        if checkpoint is None:
            return Subject(kind=SubjectKind.GROUP, name=str(group))
        return Subject(kind=SubjectKind.CHECKPOINT, name=checkpoint)

    @property
    def checkpoint(self) -> str | None:
        """The name of the checkpoint; None of a group."""
        return self.name if self.kind is SubjectKind.CHECKPOINT else None

    @property
    def group(self) -> str | None:
        """The name of the group; None of a checkpoint."""
        return self.name if self.kind is SubjectKind.GROUP else None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class _Checkpoint(Protocol):
    """A checkpoint, as whatever was made from it names it."""

    @property
    def uri(self) -> str: ...
    @property
    def engine(self) -> str: ...


class _Cluster(Protocol):
    """A cluster, as whatever was made from it names it."""

    @property
    def name(self) -> str: ...
    @property
    def cluster_id(self) -> str | None: ...


class OfSubject:
    """What was made from the positions of a checkpoint, or of a consumer group of the old cluster."""

    __slots__ = ()
    checkpoint: _Checkpoint | None
    old: _Cluster

    @property
    def engine(self) -> str:
        """The name of the engine that keeps the positions."""
        return SubjectKind.GROUP.value if self.checkpoint is None else self.checkpoint.engine

    def kept_by(self, group: str | None) -> Subject:
        """Return what keeps the positions, whatever its name: the checkpoint by its URI, or a group."""
        if self.checkpoint is not None:
            return Subject(kind=SubjectKind.CHECKPOINT, name=self.checkpoint.uri)
        return Subject(kind=SubjectKind.GROUP, name=group or "?")

    def moves(self, group: str | None) -> str:
        """Describe what is moved, as the store knows it: one plan is open for each."""
        if self.checkpoint is not None:
            return str(self.kept_by(None)).rstrip("/")
        return f"{self.kept_by(group)} on {self.old.cluster_id or self.old.name}"
