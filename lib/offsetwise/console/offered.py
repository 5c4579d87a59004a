"""What the browser can choose: the migrations of this process, by name, and what each contains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from offsetwise.config import Migration
from offsetwise.config.waves import in_order
from offsetwise.model import Subject, SubjectKind
from offsetwise.model.plan import transactions_of
from offsetwise.ports.stream import spec_of
from offsetwise.review.exports import Destination, destination_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A migration that the browser can choose, by name only."""

    name: str
    old: str
    new: str
    subjects: tuple[Subject, ...]
    recorded: bool
    """Whether it is the bundled sample, whose answers were recorded and need no cluster."""
    sinks: tuple[tuple[Subject, str], ...] = ()
    """Checkpoints whose sink's cluster is configured, each with `moves` of a plan that only ends its transactions."""
    destination: Destination = field(default_factory=Destination)
    """Where its plans are applied; empty for a bundle."""
    may_be_one: bool = False
    """Whether both clusters may be the same, as with positions that stay in their stream."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """The terms of the old cluster's stream, by Kafka's."""
    folder: str | None = None
    """Folder of its comparisons, plans, approvals and receipts; None if it is not known."""
    ends_watched: bool = False
    """Whether the ends of the old cluster's logs can be watched."""
    waves: tuple[tuple[str, tuple[Subject, ...]], ...] = ()
    """Each wave with its jobs, in the order in which they begin."""

    @property
    def is_of_many(self) -> bool:
        """Whether the whole is shown first: it is not a sample and has several jobs."""
        return not self.recorded and len(self.subjects) > 1

    def waves_of(self, subject: Subject) -> tuple[str, ...]:
        return tuple(name for name, jobs in self.waves if subject in jobs)

    @property
    def recorded_from(self) -> str:
        return "two streams on local servers" if self.may_be_one else "two real clusters"

    def address(self, subject: Subject) -> dict[str, str]:
        return {"migration": self.name, "of": str(subject)}


def offer_of(migration: Migration, name: str, *, recorded: bool, folder: Path | None = None) -> Offered:
    groups = () if recorded else tuple(Subject(kind=SubjectKind.GROUP, name=group) for group in migration.group_names)
    sinks = (
        (_checkpoint(checkpoint.name), transactions_of(str(_checkpoint(checkpoint.uri)).rstrip("/")))
        for checkpoint in migration.checkpoints
        if checkpoint.job.sink_cluster or checkpoint.job.sink_servers
    )
    return Offered(
        name=name,
        old=migration.source.name,
        new=migration.target.name,
        subjects=tuple(_checkpoint(checkpoint.name) for checkpoint in migration.checkpoints) + groups,
        recorded=recorded,
        sinks=tuple(sinks),
        destination=destination_of(migration, recorded=recorded),
        may_be_one=migration.may_be_one,
        terms=migration.terms,
        folder=None if folder is None else str(folder),
        ends_watched=spec_of(migration.source.stream).ends_watched,
        waves=tuple((wave.name, wave.jobs_of(migration.all_jobs)) for wave in in_order(migration.waves)),
    )


def _checkpoint(name: str) -> Subject:
    return Subject(kind=SubjectKind.CHECKPOINT, name=name)


def free_name(name: str, used: set[str]) -> str:
    return name if name not in used else next(text for n in range(2, 1_000) if (text := f"{name} ({n})") not in used)
