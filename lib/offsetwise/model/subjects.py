"""The subject of a plan or comparison: a checkpoint or a group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class SubjectKind(StrEnum):
    """What keeps the moved positions, by the name in commands, URLs and files."""

    CHECKPOINT = "checkpoint"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The moved job: a checkpoint by its name in the migration file, or a consumer group of the old cluster.

    >>> str(Subject(kind=SubjectKind.CHECKPOINT, name="orders"))
    'checkpoint orders'
    """

    kind: SubjectKind
    name: str

    @staticmethod
    def either(*, checkpoint: str | None, group: str | None) -> Subject:
        """Return the subject of the name that is given; options, files and rows of the store have one for each kind.

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
        return self.name if self.kind is SubjectKind.CHECKPOINT else None

    @property
    def group(self) -> str | None:
        return self.name if self.kind is SubjectKind.GROUP else None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class _Checkpoint(Protocol):
    """The checkpoint, as comparisons, plans and requirements name it."""

    @property
    def uri(self) -> str: ...
    @property
    def engine(self) -> str: ...


class _Cluster(Protocol):
    """The cluster, as comparisons, plans and requirements name it."""

    @property
    def name(self) -> str: ...
    @property
    def cluster_id(self) -> str | None: ...


class OfSubject:
    """The base of values about the positions of a checkpoint, or of a consumer group of the old cluster."""

    __slots__ = ()
    checkpoint: _Checkpoint | None
    old: _Cluster

    @property
    def engine(self) -> str:
        return SubjectKind.GROUP.value if self.checkpoint is None else self.checkpoint.engine

    def kept_by(self, group: str | None) -> Subject:
        """Return the subject that keeps the positions: the checkpoint by its URI, or a group."""
        if self.checkpoint is not None:
            return Subject(kind=SubjectKind.CHECKPOINT, name=self.checkpoint.uri)
        return Subject(kind=SubjectKind.GROUP, name=group or "?")

    def moves(self, group: str | None) -> str:
        """Return the text for the moved subject in the store: each has at most one open plan."""
        if self.checkpoint is not None:
            return str(self.kept_by(None)).rstrip("/")
        return f"{self.kept_by(group)} on {self.old.cluster_id or self.old.name}"
