"""Where a restored Flink job stands, by a checkpoint of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.apply.verification import decided
from offsetwise.model import Cluster, Turnout, Verification
from offsetwise.position import offset_of
from tests.apply.plans import SAVEPOINT, aged
from tests.plugins.flink.files import kafka_source, metadata
from tests.plugins.spark.folders import write
from tests.test_verify import Applied
from tests.with_cases import with_cases

OLD, ID = {0: 1050, 1: 20}, 7


class Restored(Applied):
    """A savepoint that was moved, and what the job that was restored from it saves."""

    def __init__(self, folder: Path) -> None:
        source = aged(write({"_metadata": metadata(kafka_source(OLD), checkpoint_id=ID)}, folder / "savepoint"))
        super().__init__(folder, SAVEPOINT, sample=str(source))
        self.planned = {each.partition: offset_of(each.new_offset) for each in self.staged.plan.positions}

    def saves(self, offsets: dict[int, int], *, checkpoint_id: int = ID + 1) -> Verification:
        """Let the job make a checkpoint; verify with it."""
        data = metadata(kafka_source(offsets), checkpoint_id=checkpoint_id)
        own = write({"_metadata": data}, self.staged.folder / f"chk-{checkpoint_id}")
        return self.look(str(own))


@pytest.fixture
def restored(tmp_path: Path) -> Restored:
    return Restored(tmp_path)


def turnouts(made: Verification) -> list[Turnout]:
    return [each.turnout for each in made.positions]


def test_a_job_that_went_on_has_moved_on(restored: Restored) -> None:
    made = restored.saves({0: restored.planned[0] + 1, 1: restored.planned[1] + 1})

    assert turnouts(made) == [Turnout.MOVED_ON] * 2
    assert [each.found for each in made.positions] == [offset_of(each.planned) + 1 for each in made.positions]
    assert decided(made)
    assert made.exit_code == 0


def test_a_job_that_had_nothing_to_read_stands_as_planned_and_has_begun(restored: Restored) -> None:
    made = restored.saves(restored.planned)

    assert turnouts(made) == [Turnout.CONFIRMED] * 2
    assert made.started


@with_cases(
    ("offsets", "told"),
    [
        ({0: 3, 1: 24}, "expected 1,053 or more"),
        ({0: 10**9, 1: 24}, "past the end of the log"),
        ({1: 24}, "leaves this partition out"),
    ],
    ids=["reset to earliest", "another cluster's position", "left out"],
)
def test_a_job_that_did_not_begin_there_is_different(restored: Restored, offsets: dict[int, int], told: str) -> None:
    made = restored.saves(offsets)

    assert turnouts(made) == [Turnout.DIFFERENT, Turnout.MOVED_ON]
    assert told in made.positions[0].told
    assert made.exit_code == 5


def test_the_savepoint_that_the_job_was_restored_from_tells_nothing_about_it(restored: Restored) -> None:
    made = restored.saves(restored.planned, checkpoint_id=ID)

    assert turnouts(made) == [Turnout.UNKNOWN] * 2
    assert "expected one after 7" in made.positions[0].told
    assert made.exit_code == 1


def test_a_log_whose_end_is_not_known_tells_nothing(restored: Restored) -> None:
    restored.staged.world.change_logs(Cluster.NEW, hw=None)

    assert turnouts(restored.saves({0: 1060, 1: 30})) == [Turnout.UNKNOWN] * 2


def test_a_checkpoint_that_cannot_be_read_tells_nothing(restored: Restored) -> None:
    assert turnouts(restored.look(str(restored.staged.folder / "nothing"))) == [Turnout.UNKNOWN] * 2
