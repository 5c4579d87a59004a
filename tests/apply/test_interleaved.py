"""Whatever somebody else does in the middle of `apply` or `rollback`: it is as if one came after the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from offsetwise.errors import OffsetwiseError
from tests.apply.faults import UnsyncedDisk
from tests.apply.interleaved import batch, interrupted, moments, tried
from tests.apply.plans import context, journal
from tests.apply.scenarios import SCENARIOS, Stage
from tests.gates import FULL
from tests.with_cases import with_cases

MOST = 2_000 if FULL else 12
"""How many moments of each pair are tried."""
SEED = 20261130


def _renewed(stage: Stage) -> None:
    """Begin anew, with the source as it was."""
    stage.reset()
    shutil.rmtree(stage.source)
    shutil.copytree(stage.folder / "pristine", stage.source)


def _query_beside_apply(stage: Stage) -> None:
    """A query goes on with the source while it is copied: the copy has nothing of that, or there is none."""

    def apply() -> object:
        return stage.apply(UnsyncedDisk())

    for at in moments(apply, MOST, SEED):
        _renewed(stage)
        refused = interrupted(apply, at, lambda: batch(stage.source))
        assert stage.standing() == (None if refused else stage.new), f"before line {at}: {refused}"


def _query_beside_rollback(stage: Stage) -> None:
    """A query begins on the copy while it is taken back: what it has written is not removed."""
    written: list[Path] = []

    def begin() -> None:
        written.extend(filter(None, [batch(stage.folder / "out" / "copy")]))

    def roll_back() -> None:
        stage.roll_back(UnsyncedDisk())

    stage.apply(UnsyncedDisk())
    for at in moments(roll_back, MOST, SEED):
        _renewed(stage)
        stage.apply(UnsyncedDisk())
        written.clear()
        refused = interrupted(roll_back, at, begin)
        for path in written:
            assert refused is not None, f"before line {at}"
            assert path.exists(), f"before line {at}: {refused}"
            assert tried(roll_back) is not None


class _Two:
    """Two people with the same receipt: one has the journal of the application beside it, the other has not."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.refused: list[OffsetwiseError | None] = []
        self.begin()

    def begin(self) -> None:
        _renewed(self.stage)
        self.step = self.stage.apply(UnsyncedDisk())
        self.refused.clear()

    def here(self) -> None:
        self.refused.append(tried(lambda: self.stage.roll_back(UnsyncedDisk())))

    def elsewhere(self) -> None:
        self.refused.append(tried(self._carried))

    def _carried(self) -> None:
        disk = UnsyncedDisk()
        with journal(self.stage.folder, disk=disk, name="carried.journal") as own:
            of = context(self.stage.folder, journal=own, disk=disk)
            self.stage.scenario.writer.undo(self.stage.plan, self.step, of)


def _rollback_beside_rollback(stage: Stage) -> None:
    """Two people take the same plan back: it is as before, and nobody is told to keep what is not there."""
    two = _Two(stage)
    for action, other in ((two.here, two.elsewhere), (two.elsewhere, two.here)):
        two.begin()
        for at in moments(action, MOST, SEED):
            two.begin()
            interrupted(action, at, other)
            stage.must_be_as_before()
            for error in filter(None, two.refused):
                assert "failback" not in error.fix, f"before line {at}: {error}"
            two.refused.clear()
            action()
            other()
            assert two.refused == [None, None], f"before line {at}"
            stage.must_be_as_before()


@with_cases(
    ["name", "pair"],
    [
        ("copy", _query_beside_apply),
        ("copy of a polluted one", _query_beside_apply),
        ("copy", _query_beside_rollback),
        ("copy of a polluted one", _query_beside_rollback),
        ("copy", _rollback_beside_rollback),
        ("seeded", _rollback_beside_rollback),
        ("in place", _rollback_beside_rollback),
    ],
)
def test_what_others_do_in_the_middle_is_before_or_after(
    name: str, pair: Callable[[Stage], None], quick_path: Path
) -> None:
    pair(SCENARIOS[name].stage(quick_path))
