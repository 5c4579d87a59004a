"""Many checkpoints side by side: the restart of each, and which of them need attention.

Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from offsetwise import files
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.findings import severity_of
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.model import Checkpoint, Severity


class FleetVerdict(StrEnum):
    """The verdict on a single checkpoint, the most urgent first."""

    UNREADABLE = "unreadable"
    """It could not be read."""
    PROBLEMS = "problems"
    """A problem blocks a restart or a move."""
    PENDING = "pending batch"
    """A batch was planned and not committed: it runs again."""
    RESTARTABLE = "restartable"
    """The next batch starts where the last one ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One checkpoint of a fleet."""

    read: Checkpoint | FailedCheckpoint
    names: tuple[str, ...] = ()
    """Its names in the migration file; empty if it was found below a root."""
    same_query: int = 1
    """How many checkpoints of the fleet have its query id, including itself. More than one: copies."""

    @property
    def uri(self) -> str:
        return self.read.uri

    @property
    def checkpoint(self) -> Checkpoint | None:
        return self.read if isinstance(self.read, Checkpoint) else None

    @property
    def verdict(self) -> FleetVerdict:
        if not isinstance(self.read, Checkpoint):
            return FleetVerdict.UNREADABLE
        if any(severity_of(problem.code) is Severity.BLOCKS for problem in self.read.problems):
            return FleetVerdict.PROBLEMS
        return FleetVerdict.RESTARTABLE if self.read.details.progress.again is None else FleetVerdict.PENDING

    @property
    def warned(self) -> bool:
        """Whether it can be restarted, and one of its problems warns."""
        return self.verdict is FleetVerdict.RESTARTABLE and any(
            severity_of(code) is Severity.WARNS for code in self.codes
        )

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of its problems, each once; for an unreadable one, the name of the error."""
        if not isinstance(self.read, Checkpoint):
            return (self.read.error,)
        return tuple(dict.fromkeys(problem.code for problem in self.read.problems))

    @property
    def planned_at_ms(self) -> int | None:
        """When it was last written, for a job that works in batches by the newest planned one; None if unknown."""
        return None if self.checkpoint is None else self.checkpoint.details.written_ms

    @property
    def committed_at_ms(self) -> int | None:
        """When the newest committed batch was planned: no later batch is known to be committed.

        The commit log has no times.
        """
        if self.checkpoint is None:
            return None
        return self.checkpoint.restart_planned_ms

    @property
    def topics(self) -> tuple[tuple[str, int], ...]:
        """(topic, number of partitions), sorted by name; for Kinesis streams and shards."""
        sources = () if self.checkpoint is None else self.checkpoint.sources
        named = [at.topic for source in sources for at in source.positions]
        named += [at.stream or source.id for source in sources for at in source.shards]
        return tuple(sorted(Counter(named).items()))

    @property
    def partitions(self) -> int | None:
        """How many partitions have a position; None if damage hides them."""
        known = sum(count for _, count in self.topics)
        return known if known or self.verdict in (FleetVerdict.RESTARTABLE, FleetVerdict.PENDING) else None

    @property
    def state_bytes(self) -> int | None:
        """The size of its state, 0 for a stateless query; None if damage hides it."""
        if self.checkpoint is None:
            return None
        known = self.checkpoint.details.state_bytes
        return None if not known and checkpoint_damaged.code in self.codes else known

    def json_line(self) -> str:
        """Return the line that `offsetwise fleet --json` prints, newline included.

        It is an `offsetwise/checkpoint`, or the `offsetwise/error` of one that could not be read.
        """
        if isinstance(self.read, Checkpoint):
            return files.dump(self.read, indent=None, severities=True)
        header = {"format": "offsetwise/error", "format_version": files.FORMAT_VERSION}
        body = header | {name: getattr(self.read, name) for name in ("error", "problem", "fix", "uri")}
        return json.dumps(body, ensure_ascii=False, sort_keys=True) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RootTrouble:
    root: str
    problem: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All checkpoints of a migration: those it names, and those found below its roots."""

    rows: tuple[FleetRow, ...]
    roots: tuple[str, ...] = ()
    """The searched roots."""
    troubles: tuple[RootTrouble, ...] = ()
    folders: int = 0
    """How many folders were searched."""

    def summary(self) -> FleetSummary:
        count = FleetCount()
        for row in self.rows:
            count.add(row)
        return count.summary()


def assemble(
    read: Sequence[Checkpoint | FailedCheckpoint],
    names: Mapping[str, tuple[str, ...]],
    *,
    roots: Sequence[str] = (),
    troubles: Sequence[RootTrouble] = (),
    folders: int = 0,
) -> Fleet:
    """Return the fleet of checkpoints.

    Args:
        read: Each checkpoint, or why it could not be read.
        names: The names in the migration file, by URI.
        roots: The searched roots.
        troubles: Roots that could not be read, or not completely.
        folders: How many folders were searched.
    """
    alike = Counter(
        checkpoint.job_id for checkpoint in read if isinstance(checkpoint, Checkpoint) and checkpoint.job_id is not None
    )
    return Fleet(
        rows=tuple(
            FleetRow(
                read=checkpoint,
                names=names.get(checkpoint.uri, ()),
                same_query=alike.get(checkpoint.job_id, 1)
                if isinstance(checkpoint, Checkpoint) and checkpoint.job_id is not None
                else 1,
            )
            for checkpoint in read
        ),
        roots=tuple(roots),
        troubles=tuple(troubles),
        folders=folders,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SameQuery:
    """Checkpoints that carry one query id: copies of each other, of which only one may be started."""

    job_id: str
    uris: tuple[str, ...]
    """In the order in which they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSummary:
    """What many checkpoints come to together."""

    checkpoints: int
    """The number of checkpoints, including unreadable ones."""
    partitions: int
    """Partitions with a position, of all of them: one that two of them read counts twice."""
    verdicts: Mapping[str, int]
    """How many checkpoints have each verdict, the most urgent one first."""
    problems: Mapping[str, int]
    """How many checkpoints have each problem, by its code; for unreadable ones the name of the error."""
    same_query: tuple[SameQuery, ...]
    """The query ids that several checkpoints share, in the order of their first checkpoints."""


class FleetCount:
    """Counts checkpoints as they are read, and keeps none of them."""

    def __init__(self) -> None:
        self._partitions = 0
        self._verdicts: Counter[FleetVerdict] = Counter()
        self._problems: Counter[str] = Counter()
        self._uris: dict[str, list[str]] = {}

    def add(self, row: FleetRow) -> None:
        self._partitions += row.partitions or 0
        self._verdicts[row.verdict] += 1
        self._problems.update(row.codes)
        if row.checkpoint is not None and row.checkpoint.job_id is not None:
            self._uris.setdefault(row.checkpoint.job_id, []).append(row.uri)

    def summary(self) -> FleetSummary:
        return FleetSummary(
            checkpoints=self._verdicts.total(),
            partitions=self._partitions,
            verdicts={str(verdict): self._verdicts[verdict] for verdict in FleetVerdict if self._verdicts[verdict]},
            problems=dict(sorted(self._problems.items())),
            same_query=tuple(
                SameQuery(job_id=job_id, uris=tuple(uris)) for job_id, uris in self._uris.items() if len(uris) > 1
            ),
        )
