"""What a person asks for when a plan is drafted."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import PlanError
from offsetwise.model import (
    AnyPosition,
    Comparison,
    Identity,
    NewSavepoint,
    Override,
    Problem,
    Settlement,
    Start,
    Subject,
    TableBefore,
    Target,
    TopicPartition,
)
from offsetwise.transactions.report import SinkTransactions


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChoice:
    """A person's choice where the partitions of one topic start, in the place of the translated offsets."""

    topic: str
    """Its name on the old cluster."""
    start: Start
    """`earliest`, `latest`, `timestamp` or `group`; an offset of one's own is an `Override`."""
    reason: str
    by: str
    timestamp_ms: int | None = None
    """For `timestamp`."""
    group: str | None = None
    """For `group`: whose committed offsets on the new cluster."""
    looked_up: tuple[tuple[int, AnyPosition | None], ...] = ()
    """For `timestamp`: (partition, offset) as the new cluster answered; None where no record is that young."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementChoice:
    """A person's decision about a transaction of a sink that nothing explains."""

    transactional_id: str
    decision: Settlement
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What a plan is to write, and who decided what."""

    targets: tuple[Target, ...]
    author: str
    editors: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = ()
    """Of those of them whom an identity provider signed in."""
    subject: Subject | None = None
    """Whose positions these are. The migration file states the job's traits of a checkpoint; where none is named, that
    of the same URI does."""
    rewind_to: int | None = None
    overrides: tuple[tuple[TopicPartition, Override], ...] = ()
    """By partition of the old cluster."""
    starts: tuple[StartChoice, ...] = ()
    settlements: tuple[SettlementChoice, ...] = ()
    sink_topics: tuple[str, ...] = ()
    """Topics of the sink to look at for transactions, beside those that open ones name."""
    mark_settled: bool = False
    """Whether the copy of the savepoint is to say that the sink's transactions are committed."""
    sink: SinkTransactions | None = None
    """What the cluster of the job's sink says of its transactions; None where it was not asked."""
    repair: str | None = None
    """The kind of repair that the copy gets; None where nothing is repaired."""
    settings: tuple[tuple[str, str], ...] = ()
    """(key, value) of every `--set`, for the targets that take it."""
    savepoint: NewSavepoint | None = None
    """What is said of a savepoint that is made; None where no target takes that."""
    tables: tuple[TableBefore, ...] = ()
    """The tables of leases that are written to, as they are now; none that could not be read."""
    sink_rewound: bool = False
    """Whether a person states that the sink is taken back with the job."""
    cutover_ms: int | None = None
    """When the job is to start on the new cluster, epoch ms."""
    newest: tuple[tuple[TopicPartition, int | None], ...] = ()
    """(partition of the new cluster, time of its newest record in epoch ms), where they were read."""

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint's name in the migration file; None for a group, and where none is named."""
        return None if self.subject is None else self.subject.checkpoint


def traits_of(migration: Migration, comparison: Comparison, name: str | None) -> JobTraits:
    """Give what the migration file states about the job; nothing for a group.

    Raises:
        ConfigError: The file names no such checkpoint.
    """
    if comparison.checkpoint is None:
        return JobTraits()
    if name is not None:
        return migration.checkpoint(name).job
    uri = comparison.checkpoint.uri
    return next((each.job for each in migration.checkpoints if each.uri == uri), JobTraits())


def refuse(reasons: tuple[Problem, ...]) -> None:
    """Go on only where nothing speaks against the plan.

    Raises:
        PlanError: Something does; every reason is named, those of one kind together.
    """
    if not reasons:
        return
    grouped: dict[str, list[Problem]] = {}
    for reason in reasons:
        grouped.setdefault(reason.code, []).append(reason)
    told = [f"{code}: {_together(found)}" for code, found in grouped.items()]
    fixes = dict.fromkeys(found[0].fix for found in grouped.values())
    kinds = "1 reason" if len(grouped) == 1 else f"{len(grouped)} kinds of reasons"
    raise PlanError(
        f"The plan may not be drafted as asked for, {kinds}. {' '.join(told)} Nothing was written.",
        fix=" ".join(fixes),
    )


NAMED = 5
"""How many partitions an error names for one kind of reason."""


def _together(found: list[Problem]) -> str:
    told = list(dict.fromkeys(reason.message for reason in found))
    more = f" And {len(told) - NAMED:,} more like these." if len(told) > NAMED else ""
    return " ".join(told[:NAMED]) + more
