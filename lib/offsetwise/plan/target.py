"""What every target says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Protocol

from offsetwise.config import ClusterConfig
from offsetwise.errors import ApplyError
from offsetwise.model import Plan, Problem, ReceiptStep, TableBefore, Target
from offsetwise.plan.settings import Settings, Takers
from offsetwise.plan.ways import Against, Way, unopposed
from offsetwise.position import OpaquePosition
from offsetwise.registry import TARGETS
from offsetwise.transactions.decisions import Decision


class Where(StrEnum):
    """Where a target stands."""

    OUTPUT = "output"
    """Where `--output` says."""
    CHECKPOINT = "checkpoint"
    """In the checkpoint that the plan was drafted from."""
    CLUSTER = "cluster"
    """On the new cluster."""
    SINK = "sink"
    """On the cluster that the job's sinks write to."""

    @property
    def has_files(self) -> bool:
        """Whether what stands there are files."""
        return self in (Where.OUTPUT, Where.CHECKPOINT)


class Recorded(Protocol):
    """Says where a step of a receipt or journal is not one that this target's writer records for a plan."""

    def __call__(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        """Give every disagreement, as part of a sentence."""


class Unfit(Protocol):
    """Says what of a plan a target cannot hold."""

    def __call__(self, plan: Plan) -> Iterator[Problem]:
        """Give every reason."""


class Creates(Protocol):
    """Says what a plan creates beside what it writes to a target, such as a table."""

    def __call__(self, plan: Plan, target: Target) -> str | None:
        """Return its name and kind; None where it creates nothing."""


class TableReader(Protocol):
    """Reads a table that a plan writes to."""

    def __call__(self, config: ClusterConfig, name: str) -> TableBefore | None:
        """Return what is in it, or that there is none; None where nobody answers."""


def _creates_nothing(plan: Plan, target: Target) -> str | None:  # noqa: ARG001 - as every target's
    return None


def _nothing(plan: Plan) -> Iterator[Problem]:  # noqa: ARG001 - as every target's
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One target."""

    name: str
    """As registered."""
    label: str
    """For people."""
    where: Where
    ways: tuple[Way, ...]
    """The ways to move a job that write it, beside those that an engine has for its own jobs."""
    against: Against = unopposed
    """Not of one that ends transactions: what speaks against that, their own state says."""
    recorded: Recorded
    notes: tuple[str, ...] | None = None
    """What its writer has noted in the journal once it began; None where that follows from the place."""
    takes_group: bool = False
    """Whether `--target` takes a group's name with it."""
    names_table: bool = False
    """Whether that name is a table's, and no group's of the new cluster."""
    keeps_state: bool = False
    """Whether it is the checkpoint of the job, with state and batch ids; a plan writes at most one such."""
    fresh: bool = False
    """Whether the job begins anew there: it needs exactly all partitions."""
    beside: bool = False
    """Whether it can be written besides whatever else a plan writes."""
    of_stream: str | None = None
    """The stream whose positions alone it takes, as registered; ways to it are shown for its migrations only."""
    any_stream: bool = False
    """Whether it takes positions of whatever stream; others take Kafka's offsets, and those of `also_of`."""
    also_of: frozenset[str] = frozenset()
    """Streams besides Kafka whose positions it takes, as registered."""
    ends: tuple[Decision, ...] = ()
    """Of a target that no position is written to: which transactions of the sink it ends, by what was decided."""
    takes_savepoint: bool = False
    """Whether a person says of which stream, and for which source, the savepoint is that it makes."""
    repairs: bool = False
    """Whether it is a copy that a repair can be written in."""
    takes: type[Settings] = Settings
    """The keys that `--set` gives it."""
    creates: Creates = _creates_nothing
    """Says what a plan creates beside what it writes."""
    table_before: TableReader | None = None
    """Reads the table that it writes to when a plan is drafted; None of a target that writes to none."""
    unfit: Unfit = _nothing
    """Says of a plan as it is drafted, and again before it is written, what of it the target cannot hold."""
    takes_marks: bool = False
    """Whether it is a copy of a savepoint, which can say that transactions of a sink are committed."""
    alone: bool = False
    """Whether a plan writes nothing besides."""
    needs_beside: tuple[str, ...] = ()
    """Of these, as `--target` takes them, a plan writes one as well: positions must stand somewhere."""

    def require_fit(self, plan: Plan, called: str) -> None:
        """Go on only with a plan that the target can hold.

        Raises:
            ApplyError: It cannot hold it.
        """
        refuse_unfit(self.unfit(plan), called)

    def told(self, target: Target) -> str:
        """Name one target of this kind for people."""
        return self.label if target.group is None else f"{self.label} {target.group}"


def refuse_unfit(problems: Iterable[Problem], called: str) -> None:
    """Go on only where nothing speaks against writing a plan to a target.

    Raises:
        ApplyError: Something does; what to do is the problem's own remedy, as when a plan is drafted.
    """
    wrong = next(iter(problems), None)
    if wrong is not None:
        raise ApplyError(
            f"{called}: expected a plan that it can hold. {wrong.message} Nothing was written.", fix=wrong.fix
        )


def spec_of(name: str) -> Spec:
    """Give what a registered target says of itself."""
    made: Spec = import_module(f"{TARGETS[name]}.spec").SPEC
    return made


def of_shards(plan: Plan) -> bool:
    """Say whether a plan has positions of another stream's, as those of shards are, and no offsets."""
    return any(isinstance(one.new_offset, OpaquePosition) for one in plan.positions)


def groups_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """Name the groups of the new cluster that are written to."""
    return tuple(each.group for each in targets if each.group is not None and not spec_of(each.kind).names_table)


def takers_of(targets: Iterable[Target]) -> Takers:
    """Return what the targets of a plan take of `--set`, by their names."""
    return {target.kind: spec_of(target.kind).takes for target in targets}


def specs() -> tuple[Spec, ...]:
    """Give all registered targets, in their order."""
    return tuple(map(spec_of, TARGETS))
