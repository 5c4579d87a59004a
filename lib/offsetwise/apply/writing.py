"""What every writer has in common: what it is handed, what it says it would do, and what it gives back."""

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
"""A temporary file or a pending batch younger than this is taken as a sign of a running query."""
Came = Mapping[int, ReceiptStep | OffsetwiseError]
"""What came of steps, by their number in the plan: written, or why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a writer is handed besides the plan."""

    digest: str
    """The plan's digest, hex."""
    output: str | None
    """The folder or file to write; None for targets that have their own place (a group, a checkpoint in place)."""
    write_roots: tuple[str, ...]
    """Where may be written. Nowhere when empty."""
    read_roots: tuple[str, ...] | None
    """Where checkpoints may be read; None when a person named the path."""
    step: int = 0
    """The number of the target in the plan: the step of the journal."""
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
    """Relative to the place."""
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
    """Those that would be ended."""


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
    """Writes one kind of target."""

    taken_back: ClassVar = StepStanding.ABSENT
    """How it looks where a step was undone: `AS_WRITTEN` of one that puts back what was there."""

    @abstractmethod
    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return what writing would do, per file and number. Nothing is written.

        Raises:
            OffsetwiseError: It could not be written as things stand; the message says why.
        """

    @abstractmethod
    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write under the journal. The same call again goes on from wherever an earlier one ended.

        Raises:
            OffsetwiseError: The message says what is there now.
        """

    def write_all(self, plan: Plan, steps: Sequence[tuple[Target, Context]]) -> Came:
        """Write several targets of this kind that stand together in a plan: one after another, up to the first error.

        Returns:
            By step what came of it. A step that is missing was not written by this call.
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
        """Put back what stood there before, as the plan has it. The same call again goes on.

        Raises:
            OffsetwiseError: It could not be put back; the message says what is there now.
        """

    @abstractmethod
    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        """Return what is there now, and whether it is the plan's own work."""

    def left(self, plan: Plan, undone: ReceiptStep, context: Context) -> str | None:
        """Describe what is not as it was before, after a step was undone; None where all is."""
        state = self.look(plan, undone, context)
        return None if state.standing is self.taken_back else state.told
