"""What every writer has in common: what it is handed, what it says it would do, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from offsetwise.apply.disk import Disk
from offsetwise.model import Offset, Plan, ReceiptStep, Target, WrittenOffset

if TYPE_CHECKING:
    from offsetwise.apply.journal import Journal

YOUNG_S: Final = 120.0
"""A temporary file or a pending batch younger than this is taken as a sign of a running query."""


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
class NumberChange:
    """One number in a file, before and after."""

    source: str
    topic: str
    partition: int
    before: Offset | None
    """None for a partition that is added."""
    new_topic: str
    after: Offset


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


class Standing(StrEnum):
    """How what stands at a place now compares with what a step wrote."""

    AS_WRITTEN = "as written"
    ABSENT = "absent"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What stands at a place now."""

    standing: Standing
    told: str
    """One sentence."""


class Writer(Protocol):
    """One kind of target. A module with these four functions is one."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Say what writing would do, per file and number. Nothing is written."""

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write under the journal. The same call again goes on from wherever an earlier one ended."""

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Put back what stood there before, as the plan has it. The same call again goes on."""

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> Seen:
        """Say what stands there now, and whether it is the plan's own work."""
