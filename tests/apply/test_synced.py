"""What a loss of power must not take: every byte and name is durable before anything relies on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from offsetwise.apply import reversal
from offsetwise.apply.disk import Disk
from offsetwise.apply.run import apply
from offsetwise.model import Target
from tests.apply.plans import COPY, IN_PLACE, SEEDED, STARTING, STATE
from tests.apply.worlds import Stage, stage
from tests.with_cases import with_cases

_T = TypeVar("_T")
TARGETS = with_cases("target", [COPY, IN_PLACE, SEEDED, STARTING], ids=str)


class Remembering(Disk):
    """Knows which bytes and which names of files a loss of power would take now, and looks whenever it matters."""

    syncers = 1

    def __init__(self, journal: str) -> None:
        self.journal = journal
        self.bytes: set[str] = set()
        self.names: set[str] = set()
        self.renames = 0

    def unsynced(self, below: str = "/") -> list[str]:
        return sorted(
            path for path in self.bytes | self.names if path == below or path.startswith(below.rstrip("/") + "/")
        )

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        path = path.rstrip("/")
        journal = path in (self.journal, os.path.dirname(self.journal))
        assert journal or not self.unsynced(self.journal), f"{name} of {path} before the journal's line is durable"
        new = not os.path.lexists(path)
        made = super().call(name, path, action)
        match name:
            case "write" | "clone":
                self.bytes.add(path)
            case "open" | "mkdir" | "link" if new:
                self.names.add(path)
            case "rename":
                self.names.add(path)
            case "fsync":
                self.bytes.discard(path)
                self.names = {one for one in self.names if os.path.dirname(one) != path}
        # What was taken away again, or moved, has no name to lose.
        self.bytes, self.names = ({p for p in each if os.path.lexists(p)} for each in (self.bytes, self.names))
        return made

    def rename(self, source: str, path: str) -> None:
        self.renames += 1
        self.bytes.discard(path)  # what stood there has another name, or is not needed any more
        self.names.discard(source)  # this name is given up
        assert not self.unsynced(source), "what appears is durable before it appears"
        assert not any(self.is_guard(one) for one in self.unsynced()), "the guard is durable before anything moves"
        super().rename(source, path)

    def remove(self, path: str) -> None:
        if self.is_guard(path):
            left = [one for one in self.unsynced() if "/.offsetwise-" not in one]
            assert not left, "all that Spark reads is durable before the guard goes"
        super().remove(path)

    @staticmethod
    def is_guard(path: str) -> bool:
        return os.path.basename(os.path.dirname(path)) == "offsets" and b"offsetwise" in Path(path).read_bytes()


def applied(folder: Path, target: Target) -> tuple[Stage, Remembering]:
    staged = stage(folder, target, sample=STATE)
    disk = Remembering(f"{staged.receipt}.journal")
    apply(staged.order(), staged.receipt, staged.tools(disk))
    return staged, disk


@TARGETS
def test_nothing_that_was_applied_would_be_lost(target: Target, tmp_path: Path) -> None:
    _, disk = applied(tmp_path, target)

    assert disk.unsynced() == []
    assert disk.renames or target == STARTING, "files appear by a rename, or by a link"


@TARGETS
def test_nothing_that_was_rolled_back_would_come_back(target: Target, tmp_path: Path) -> None:
    staged, disk = applied(tmp_path, target)

    reversal.rollback(staged.back(), staged.tools(disk))

    assert disk.unsynced() == []


def test_without_links_every_copied_byte_is_durable_too(tmp_path: Path) -> None:
    class Without(Remembering):
        def link(self, source: str, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
            return False

    staged = stage(tmp_path, COPY, sample=STATE)
    disk = Without(f"{staged.receipt}.journal")
    apply(staged.order(), staged.receipt, staged.tools(disk))

    # Where nothing can be linked, the receipt appears by a rename as well.
    assert disk.unsynced() == []
    assert disk.renames == 2
