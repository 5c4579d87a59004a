"""The interface of writers: their inputs, previews and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

from offsetwise.apply.disk import Disk
from offsetwise.errors import OffsetwiseError
from offsetwise.model import AnyPosition, Plan, PlannedTransaction, ReceiptStep, Target, WrittenOffset
from offsetwise.position import OfTwins

if TYPE_CHECKING:
    from offsetwise.apply.journal import Journal

YOUNG_S: Final = 120.0
"""A younger temporary file or pending batch is taken as a sign of a running query."""
Came = Mapping[int, ReceiptStep | OffsetwiseError]
"""The result of each step, by its number in the plan: the written step, or the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The inputs of a writer besides the plan."""

    digest: str
    """The plan's digest, hex."""
    output: str | None
    """The folder or file to write; None for targets with a location of their own (a group, a checkpoint in place)."""
    write_roots: tuple[str, ...]
    """Where writing is allowed. Nowhere if empty."""
    read_roots: tuple[str, ...] | None
    """Where checkpoints may be read; None if a person named the path."""
    step: int = 0
    """The index of the target in the plan, and of the step in the journal."""
    journal: Journal | None = None
    """None for a dry run."""
    disk: Disk = field(default_factory=Disk)
    young_s: float = YOUNG_S


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberChange(OfTwins):
    """One number in a file, before and after."""

    source: str
    topic: str
    partition: int
    before: AnyPosition | None
    """None for a partition that is added."""
    new_topic: str
    after: AnyPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file that would be edited, made or left out."""

    path: str
    """Relative to the target's folder."""
    what: str
    """`edited`, `made` or `dropped`."""
    numbers: tuple[NumberChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What writing one target would do. Making it writes nothing."""

    target: Target
    place: str
    told: str
    """One sentence."""
    files: tuple[FileChange, ...] = ()
    offsets: tuple[WrittenOffset, ...] = ()
    transactions: tuple[PlannedTransaction, ...] = ()
    """The transactions that would be ended."""


class StepStanding(StrEnum):
    """How what is at a place now compares with what a step wrote."""

    AS_WRITTEN = "as written"
    ABSENT = "absent"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPlace:
    """What is at a place now."""

    standing: StepStanding
    told: str
    """One sentence."""


class Writer(ABC):
    taken_back: ClassVar = StepStanding.ABSENT
    """The state of a target after undoing a step: `AS_WRITTEN` if the writer restores the previous content."""

    @abstractmethod
    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return what writing would do, by file and number, without writing anything.

        Raises:
            OffsetwiseError: It cannot be written now; the message says why.
        """

    @abstractmethod
    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write under the journal. Calling it again continues where an earlier call ended.

        Raises:
            OffsetwiseError: The message has the state of the target now.
        """

    def write_all(self, plan: Plan, steps: Sequence[tuple[Target, Context]]) -> Came:
        """Write several adjacent targets of this kind: one after another, up to the first error.

        Returns:
            The result by step. A missing step was not written by this call.
        """
        results: dict[int, ReceiptStep | OffsetwiseError] = {}
        for target, context in steps:
            try:
                results[context.step] = self.write(plan, target, context)
            except OffsetwiseError as error:
                return results | {context.step: error}
        return results

    @abstractmethod
    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Restore the state before the plan, as the plan records it. Calling it again continues.

        Raises:
            OffsetwiseError: It could not be restored; the message has the state of the target now.
        """

    @abstractmethod
    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        """Return the current state of the target, and whether it is the plan's own work."""

    def left(self, plan: Plan, undone: ReceiptStep, context: Context) -> str | None:
        """Describe a remaining difference after a step was undone; None if there is none."""
        state = self.look(plan, undone, context)
        return None if state.standing is self.taken_back else state.told
