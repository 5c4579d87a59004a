"""The port of targets: what planning and application need from everything that a plan can write to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Final

from offsetwise.config import ClusterConfig, JobTraits, Migration
from offsetwise.errors import ApplyError, PlanError
from offsetwise.model import (
    CheckpointRequirement,
    Comparison,
    NewSavepoint,
    Plan,
    Problem,
    ReceiptStep,
    Snapshot,
    TableBefore,
    Target,
)
from offsetwise.plan.moving import StartingOffsets
from offsetwise.plan.operators.patch import OperatorPatch
from offsetwise.plan.recorded import notes_of_output
from offsetwise.plan.settings import Recorded, Settings, Takers
from offsetwise.plan.ways import Way
from offsetwise.position import OpaquePosition
from offsetwise.registry import TARGETS
from offsetwise.transactions.decisions import Decision

OFFSETS: Final = "offsets"
"""In `TargetType.streams`: every stream whose positions are integers, as Kafka's offsets are."""


class Where(StrEnum):
    OUTPUT = "output"
    """The folder or file of `--output`."""
    CHECKPOINT = "checkpoint"
    """The checkpoint that the plan was drafted from."""
    CLUSTER = "cluster"
    """The new cluster."""
    SINK = "sink"
    """The cluster that the job's sinks write to."""
    SERVICE = "service"
    """An external system."""

    @property
    def has_files(self) -> bool:
        return self in (Where.OUTPUT, Where.CHECKPOINT)


class TargetRole(StrEnum):
    """The role of a target for the job."""

    STATE = "state"
    """The job's checkpoint with its state, from which the job continues. A plan writes at most one."""
    START = "start"
    """The positions that a job without state starts from."""
    POSITIONS = "positions"
    """Positions that are kept outside the job's own state."""
    TRANSACTIONS = "transactions"
    """Transactions of the job's sinks; no position is written."""


class TargetType(ABC):
    """A type of target.

    The one registered instance is pure, and the console loads it; its writer is a separate module.
    """

    name: ClassVar[str]
    """The name in files of format version 1 and after `--target`."""
    label: ClassVar[str]
    """The name for people."""
    where: ClassVar[Where]
    role: ClassVar[TargetRole]
    address: ClassVar[str | None] = None
    """The meaning of NAME in `--target TYPE:NAME`, in a word or two; None if the type alone names the target."""
    streams: ClassVar[frozenset[str]] = frozenset({OFFSETS})
    """The registered names of the streams whose positions it holds, or `OFFSETS`; empty for every stream."""
    moves_one_of_several: ClassVar[bool] = False
    """Whether it can move one cluster of a source that keeps positions on several, and keep those on the others."""
    parameters: ClassVar[type[Settings]] = Settings
    """The keys of `--set` for it."""
    ways: ClassVar[tuple[Way, ...]] = ()
    """The ways that write it, besides those that an engine has for its own jobs."""
    decisions: ClassVar[tuple[Decision, ...]] = ()
    """The decisions whose transactions it ends."""
    start: ClassVar[StartingOffsets | None] = None
    """The form in which it writes starting offsets; None for the form of the job's engine, or none at all."""
    patches: ClassVar[tuple[OperatorPatch, ...]] = ()
    """The patches that make a Kubernetes operator start a job from what it writes, one for each operator."""
    job: ClassVar[Callable[[], Any] | None] = None
    """Imports the `apply.verification.job.JobModule` that asks a running job where it began. A static method that
    targets of one kind of job share; None if no job can answer."""
    shows_start: ClassVar[bool] = False
    """Whether the first batch of a started job shows where it began; otherwise only its current position is visible."""
    notes: ClassVar[frozenset[str]] = frozenset()
    """The names of the notes that its writer keeps in the journal to continue."""

    def objections(
        self,
        comparison: Comparison,
        job: JobTraits,
        *,
        sink_rewound: bool,
    ) -> Iterator[Problem]:
        """Yield the objections to writing it for a job, without those about single partitions.

        Args:
            comparison: The comparison.
            job: What the migration file states about the job.
            sink_rewound: Whether a person states that the sink is taken back with the job.
        """
        yield from ()

    def combination(self, targets: Sequence[Target]) -> Iterator[PlanError]:
        """Yield an error if the plan combines it with targets that exclude it.

        Args:
            targets: All targets of the plan, including this one.
        """
        yield from ()

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        """Yield the parts of a plan that it cannot hold. Called when the plan is drafted, and before it is written."""
        yield from ()

    def stated(self, created: NewSavepoint | None) -> Recorded:
        """Return the values of its parameters that a plan holds outside its settings."""
        return ()

    def creates(self, settings: Recorded, target: Target) -> str | None:
        """Return kind and name of an object that writing the plan creates, such as a table; None if it creates none."""
        return None

    def addresses(self, comparison: Comparison, new: Snapshot | None) -> Sequence[str]:
        """Return the known names for NAME, the default first.

        Args:
            comparison: The comparison.
            new: The new cluster; None if it was not read.
        """
        return ()

    def namesake(self, comparison: Comparison) -> str | None:
        """Return the NAME under which a job keeps its own name.

        Args:
            comparison: The comparison.

        Returns:
            None if the job has no such name.
        """
        return None

    def services(self, migration: Migration) -> Sequence[str]:
        """Return the names of the services with an address in the migration file, for targets that are services."""
        return ()

    def example(self, comparison: Comparison, job: JobTraits) -> str:
        """Return the NAME in a command for people to complete; a word in capitals if none is known.

        Args:
            comparison: The comparison.
            job: What the migration file states about the job.
        """
        return next(iter(self.addresses(comparison, None)), (self.address or "").upper())

    def groups(self, target: Target) -> tuple[str, ...]:
        """Return the consumer groups of the new cluster that it commits offsets for."""
        return ()

    def table(self, config: ClusterConfig, target: Target, new: Snapshot) -> TableBefore | None:
        """Read the current state of the table that it writes to.

        Args:
            config: The cluster that it is written to.
            target: The target.
            new: The snapshot of that cluster.

        Returns:
            None if it writes to no table, or the service does not answer.

        Raises:
            PlanError: The table must not be written to.
        """
        return None

    def before(self, target: Target, settings: Recorded) -> Mapping[str, str | int | None] | None:
        """Read the current state of the target, for review, drift and rollback.

        Args:
            target: The target.
            settings: Its values of `--set`.

        Returns:
            The state by names that people understand; None if there is nothing to compare.

        Raises:
            OffsetwiseError: It cannot be read.
        """
        return None

    def before_of(
        self, migration: Migration, target: Target, settings: Recorded
    ) -> Mapping[str, str | int | None] | None:
        """Read the state of a target whose address is in the migration file; by default the same as `before`.

        Args:
            migration: The migration.
            target: The target.
            settings: Its values of `--set`.

        Raises:
            OffsetwiseError: It cannot be read.
        """
        return self.before(target, settings)

    def is_checkpoint(self, target: Target, checkpoint: CheckpointRequirement | None) -> bool:
        """Return whether writing it changes the checkpoint that the plan was drafted from."""
        return self.where is Where.CHECKPOINT

    @abstractmethod
    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        """Yield, as parts of a sentence, why a step of a receipt or journal cannot come from its writer.

        Args:
            plan: The plan.
            digest: The plan's digest, hex.
            step: What was written, or was about to be.
        """

    def unfit_notes(
        self,
        digest: str,
        step: ReceiptStep,
        notes: Mapping[str, str],
        *,
        begun: bool,
    ) -> Iterator[str]:
        """Yield, as parts of a sentence, which notes of a journal its writer cannot have made.

        Args:
            digest: The plan's digest, hex.
            step: What was about to be written.
            notes: The notes by name.
            begun: Whether the step began: then its writer has noted what it needs to continue.
        """
        for name in sorted(notes.keys() - self.notes):
            yield f"it has a note of {name[:80]!r}, which {self.name} has none of"

    def require_fit(self, plan: Plan, label: str) -> None:
        """Raise unless it can hold a plan.

        Args:
            plan: The plan.
            label: The subject at the beginning of the error.

        Raises:
            ApplyError: It cannot hold the plan.
        """
        refuse_unfit(self.unfit(plan), label)

    def named(self, target: Target) -> str:
        return self.label if target.group is None else f"{self.label} {target.group}"


class OutputTarget(TargetType):
    """A type of target whose files are written to `--output`, all or none."""

    where = Where.OUTPUT
    notes = frozenset({"tmp", "trash", "inode", "token", "copied", "seized"})

    def unfit_notes(self, digest: str, step: ReceiptStep, notes: Mapping[str, str], *, begun: bool) -> Iterator[str]:
        yield from super().unfit_notes(digest, step, notes, begun=begun)
        yield from notes_of_output(step.place, notes, begun=begun)


def refuse_unfit(problems: Iterable[Problem], label: str) -> None:
    """Raise if there are objections to writing a plan to a target.

    Raises:
        ApplyError: There are; the fix is the one of the first objection, as when a plan is drafted.
    """
    wrong = next(iter(problems), None)
    if wrong is not None:
        raise ApplyError(
            f"{label}: expected a plan that it can hold. {wrong.message} Nothing was written.", fix=wrong.fix
        )


def target_type(name: str) -> TargetType:
    """Return a registered type of target.

    Args:
        name: As in `registry.TARGETS`.

    Raises:
        PluginError: It belongs to a plug-in that cannot be loaded.
    """
    return TARGETS.load_object(name, TargetType)  # type: ignore[type-abstract] # a concrete instance is returned


def target_types() -> tuple[TargetType, ...]:
    """Return all registered types of targets, in order, without those of plug-ins that cannot be loaded."""
    return tuple(TARGETS.loadable(TargetType, TARGETS))  # type: ignore[type-abstract] # as above


def has_opaque_positions(plan: Plan) -> bool:
    return any(isinstance(position.new_offset, OpaquePosition) for position in plan.positions)


def groups_of(targets: Iterable[Target]) -> tuple[str, ...]:
    return tuple(group for target in targets for group in target_type(target.kind).groups(target))


def takes(target: Target, settings: type[Settings]) -> bool:
    return issubclass(target_type(target.kind).parameters, settings)


def takers_of(targets: Iterable[Target]) -> Takers:
    """Return the models of `--set` of a plan's targets, by the name of the target."""
    return {target.kind: target_type(target.kind).parameters for target in targets}
