"""Many checkpoints side by side: what each says about its restart, and which of them need a look.

Pure: made from what was read.
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
    """What can be said of one checkpoint by itself, the most urgent first."""

    UNREADABLE = "unreadable"
    """It gave nothing."""
    PROBLEMS = "problems"
    """Something is wrong that blocks a restart or a move."""
    PENDING = "pending batch"
    """A batch was planned and not committed: it runs again."""
    RESTARTABLE = "restartable"
    """The next batch starts where the last one ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One checkpoint of a fleet."""

    read: Checkpoint | FailedCheckpoint
    names: tuple[str, ...] = ()
    """What the migration file calls it; empty for one that was found below a root."""
    same_query: int = 1
    """How many checkpoints of the fleet carry its query id, itself included. More than one: copies."""

    @property
    def uri(self) -> str:
        """Where it stands."""
        return self.read.uri

    @property
    def checkpoint(self) -> Checkpoint | None:
        """What was read; None where nothing could be."""
        return self.read if isinstance(self.read, Checkpoint) else None

    @property
    def verdict(self) -> FleetVerdict:
        """What it comes to."""
        if not isinstance(self.read, Checkpoint):
            return FleetVerdict.UNREADABLE
        if any(severity_of(problem.code) is Severity.BLOCKS for problem in self.read.problems):
            return FleetVerdict.PROBLEMS
        return FleetVerdict.RESTARTABLE if self.read.details.progress.again is None else FleetVerdict.PENDING

    @property
    def warned(self) -> bool:
        """Whether it can be restarted, and one of its problems warns: a person should look at it first."""
        return self.verdict is FleetVerdict.RESTARTABLE and any(
            severity_of(code) is Severity.WARNS for code in self.codes
        )

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of its problems, each once; of an unreadable one, the name of the error."""
        if not isinstance(self.read, Checkpoint):
            return (self.read.error,)
        return tuple(dict.fromkeys(problem.code for problem in self.read.problems))

    @property
    def planned_at_ms(self) -> int | None:
        """When it was written last, of a job that works in batches by the newest planned one; None where unknown."""
        return None if self.checkpoint is None else self.checkpoint.details.written_ms

    @property
    def committed_at_ms(self) -> int | None:
        """When the newest committed batch was planned: nothing that was planned later is known to be committed.

        The commit log keeps no times of its own.
        """
        if self.checkpoint is None:
            return None
        return self.checkpoint.restart_planned_ms

    @property
    def topics(self) -> tuple[tuple[str, int], ...]:
        """Its topics by name, each with the number of its partitions; of Kinesis its streams and their shards."""
        sources = () if self.checkpoint is None else self.checkpoint.sources
        named = [at.topic for source in sources for at in source.positions]
        named += [at.stream or source.id for source in sources for at in source.shards]
        return tuple(sorted(Counter(named).items()))

    @property
    def partitions(self) -> int | None:
        """How many partitions have a position; None where damage hides them."""
        known = sum(count for _, count in self.topics)
        return known if known or self.verdict in (FleetVerdict.RESTARTABLE, FleetVerdict.PENDING) else None

    @property
    def state_bytes(self) -> int | None:
        """The size of its state, 0 for a query that keeps none; None where damage hides it."""
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
    """Where they were looked for."""
    troubles: tuple[RootTrouble, ...] = ()
    folders: int = 0
    """How many folders were looked into to find them."""

    def summary(self) -> FleetSummary:
        """Return what they come to together."""
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
    """Put what was read together.

    Args:
        read: Each checkpoint, or why it gave nothing.
        names: What the migration file calls them, by URI.
        roots: Where they were looked for.
        troubles: Roots that could not be looked into, or not whole.
        folders: How many folders were looked into.
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
    """How many there are, those that could not be read among them."""
    partitions: int
    """Partitions with a position, of all of them: one that two of them read counts twice."""
    verdicts: Mapping[str, int]
    """How many checkpoints have each verdict, the most urgent one first."""
    problems: Mapping[str, int]
    """How many checkpoints have each problem, by its code; of those that could not be read the name of the error."""
    same_query: tuple[SameQuery, ...]
    """The query ids that several checkpoints carry, in the order of their first checkpoints."""


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
