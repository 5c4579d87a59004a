"""The port of targets: what planning and application ask of whatever a plan can write to."""

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
"""Among the streams of a target: every stream whose positions are integers, as Kafka's offsets are."""


class Where(StrEnum):
    """Where a target is written."""

    OUTPUT = "output"
    """To the folder or file of `--output`."""
    CHECKPOINT = "checkpoint"
    """In the checkpoint that the plan was drafted from."""
    CLUSTER = "cluster"
    """On the new cluster."""
    SINK = "sink"
    """On the cluster that the job's sinks write to."""
    SERVICE = "service"
    """In a system of its own."""

    @property
    def has_files(self) -> bool:
        """Whether the target consists of files."""
        return self in (Where.OUTPUT, Where.CHECKPOINT)


class TargetRole(StrEnum):
    """What a target is to the job."""

    STATE = "state"
    """The job's checkpoint, with its state: the job goes on from it. A plan writes at most one."""
    START = "start"
    """What a job begins anew from."""
    POSITIONS = "positions"
    """Positions that are kept apart from the job's own state."""
    TRANSACTIONS = "transactions"
    """Transactions of the job's sinks: no position is written."""


class TargetType(ABC):
    """A type of target. One instance is registered; it is pure, and the console loads it. Its writer stands apart."""

    name: ClassVar[str]
    """As in files of format version 1 and after `--target`."""
    label: ClassVar[str]
    """For people."""
    where: ClassVar[Where]
    role: ClassVar[TargetRole]
    address: ClassVar[str | None] = None
    """What NAME is in `--target TYPE:NAME`, in a word or two; None where the type alone names the target."""
    streams: ClassVar[frozenset[str]] = frozenset({OFFSETS})
    """The streams whose positions it holds, as registered, or `OFFSETS`; empty: those of every stream."""
    moves_one_of_several: ClassVar[bool] = False
    """Whether it can move one cluster of a source that keeps positions on several, and keep those on the others."""
    parameters: ClassVar[type[Settings]] = Settings
    """What `--set` says to it."""
    ways: ClassVar[tuple[Way, ...]] = ()
    """The ways to move a job that write it, beside those that an engine has for its own jobs."""
    decisions: ClassVar[tuple[Decision, ...]] = ()
    """Which transactions it ends, by what was decided about them."""
    start: ClassVar[StartingOffsets | None] = None
    """How what it writes tells a job where to begin; None: as the job's engine is told, or it tells no such thing."""
    patches: ClassVar[tuple[OperatorPatch, ...]] = ()
    """What makes an operator of Kubernetes start a job from what it writes; one for each operator that can."""
    job: ClassVar[Callable[[], Any] | None] = None
    """Imports what asks a running job whether it began from what was written: an `apply.verification.job.JobModule`, a
    static method that targets of one kind of job share. None where no job says that."""
    shows_start: ClassVar[bool] = False
    """Whether a job that has started shows where it began, by its first batch; else only where it stands is seen."""
    notes: ClassVar[frozenset[str]] = frozenset()
    """Names under which its writer notes in the journal what it needs to go on."""

    def objections(
        self,
        comparison: Comparison,
        job: JobTraits,
        *,
        sink_rewound: bool,
    ) -> Iterator[Problem]:
        """Yield what speaks against writing it for a job, single partitions aside.

        Args:
            comparison: What was compared.
            job: What the migration file states about the job.
            sink_rewound: Whether a person states that the sink is taken back with the job.
        """
        yield from ()

    def combination(self, targets: Sequence[Target]) -> Iterator[PlanError]:
        """Yield the error of a plan that writes targets together which it does not go with.

        Args:
            targets: All targets of the plan, this one among them.
        """
        yield from ()

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        """Yield what of a plan it cannot hold; asked when the plan is drafted, and again before it is written."""
        yield from ()

    def stated(self, created: NewSavepoint | None) -> Recorded:
        """Return the values of its parameters that a plan holds elsewhere than among its settings: of what it makes."""
        return ()

    def creates(self, settings: Recorded, target: Target) -> str | None:
        """Return the name and kind of what a plan creates beside what it writes, such as a table."""
        return None

    def addresses(self, comparison: Comparison, new: Snapshot | None) -> Sequence[str]:
        """Return the names that it may take after the colon, as far as they are known, the usual one first.

        Args:
            comparison: What was compared.
            new: The new cluster; None where it was not read.
        """
        return ()

    def namesake(self, comparison: Comparison) -> str | None:
        """Return the name after the colon under which a job is written where it keeps its own name.

        Args:
            comparison: What was compared.

        Returns:
            None for a job that has no such name.
        """
        return None

    def services(self, migration: Migration) -> Sequence[str]:
        """Return the names of the services that a migration file says how to reach, of targets that are some."""
        return ()

    def example(self, comparison: Comparison, job: JobTraits) -> str:
        """Return the name for a command that a person completes; a word in capitals where none is known.

        Args:
            comparison: What was compared.
            job: What the migration file states about the job.
        """
        return next(iter(self.addresses(comparison, None)), (self.address or "").upper())

    def groups(self, target: Target) -> tuple[str, ...]:
        """Return the consumer groups of the new cluster whose committed offsets it writes."""
        return ()

    def table(self, config: ClusterConfig, target: Target, new: Snapshot) -> TableBefore | None:
        """Read the table that it writes to as it is now; None where it writes to none or nobody answers.

        Args:
            config: The cluster that it is written to.
            target: The target.
            new: What that cluster said.

        Raises:
            PlanError: Nothing may be written to it.
        """
        return None

    def before(self, target: Target, settings: Recorded) -> Mapping[str, str | int | None] | None:
        """Read what is at the target now, so that it is reviewed, held against what is there later, and put back.

        Args:
            target: The target.
            settings: What `--set` says to it.

        Returns:
            By names that people understand; None where nothing has to be compared.

        Raises:
            OffsetwiseError: It cannot be read.
        """
        return None

    def before_of(
        self, migration: Migration, target: Target, settings: Recorded
    ) -> Mapping[str, str | int | None] | None:
        """Read the same of a target that the migration file says how to reach; see `before`, which others have.

        Args:
            migration: The migration.
            target: The target.
            settings: What `--set` says to it.

        Raises:
            OffsetwiseError: It cannot be read.
        """
        return self.before(target, settings)

    def is_checkpoint(self, target: Target, checkpoint: CheckpointRequirement | None) -> bool:
        """Return whether writing it changes the checkpoint that the plan was drafted from."""
        return self.where is Where.CHECKPOINT

    @abstractmethod
    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        """Yield, as parts of a sentence, where a step of a receipt or journal is none that its writer records.

        Args:
            plan: The plan.
            digest: Its digest, hex.
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
            digest: The plan's, hex.
            step: What was about to be written.
            notes: By their names.
            begun: Whether the step began: then its writer has noted what it needs to go on.
        """
        for name in sorted(notes.keys() - self.notes):
            yield f"it has a note of {name[:80]!r}, which {self.name} has none of"

    def require_fit(self, plan: Plan, label: str) -> None:
        """Go on only with a plan that it can hold.

        Args:
            plan: The plan.
            label: What to call it at the beginning of an error.

        Raises:
            ApplyError: It cannot hold it.
        """
        refuse_unfit(self.unfit(plan), label)

    def named(self, target: Target) -> str:
        """Return the name of one target of this type for people."""
        return self.label if target.group is None else f"{self.label} {target.group}"


class OutputTarget(TargetType):
    """A type of target whose files are written to `--output`: whole, or not at all."""

    where = Where.OUTPUT
    notes = frozenset({"tmp", "trash", "inode", "token", "copied", "seized"})

    def unfit_notes(self, digest: str, step: ReceiptStep, notes: Mapping[str, str], *, begun: bool) -> Iterator[str]:
        """Yield which notes its writer cannot have made, such as a temporary name elsewhere."""
        yield from super().unfit_notes(digest, step, notes, begun=begun)
        yield from notes_of_output(step.place, notes, begun=begun)


def refuse_unfit(problems: Iterable[Problem], label: str) -> None:
    """Go on only where nothing speaks against writing a plan to a target.

    Raises:
        ApplyError: Something does; what to do is the problem's own remedy, as when a plan is drafted.
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
        PluginError: It is a plug-in's that cannot be loaded.
    """
    return TARGETS.load_object(name, TargetType)  # type: ignore[type-abstract] # it is asked what an instance is


def target_types() -> tuple[TargetType, ...]:
    """Return all registered types of targets, in their order, but for those of plug-ins that cannot be loaded."""
    return tuple(TARGETS.loadable(TargetType, TARGETS))  # type: ignore[type-abstract] # as above


def has_opaque_positions(plan: Plan) -> bool:
    """Return whether a plan has positions of a stream that counts no offsets."""
    return any(isinstance(position.new_offset, OpaquePosition) for position in plan.positions)


def groups_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """Return the consumer groups of the new cluster that are written to."""
    return tuple(group for target in targets for group in target_type(target.kind).groups(target))


def takes(target: Target, settings: type[Settings]) -> bool:
    """Return whether a target takes these keys of `--set`."""
    return issubclass(target_type(target.kind).parameters, settings)


def takers_of(targets: Iterable[Target]) -> Takers:
    """Return what the targets of a plan take of `--set`, by their names."""
    return {target.kind: target_type(target.kind).parameters for target in targets}
