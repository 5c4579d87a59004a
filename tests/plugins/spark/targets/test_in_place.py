"""Editing a checkpoint itself: guarded while it is half done, and taken back byte for byte."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from offsetwise.apply.disk import Disk
from offsetwise.apply.writing import StepStanding
from offsetwise.errors import ApplyError, OutputError, RunningQueryError, StalePlanError
from offsetwise.model import Plan, ReceiptStep, StepState
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from tests.apply.plans import (
    IN_PLACE,
    PENDING,
    STATE,
    aged,
    context,
    drafted,
    files_of,
    in_place,
    journal,
    recorded,
    tree_hash,
)
from tests.plans import plan_of
from tests.plugins.spark.folders import NAMES
from tests.plugins.spark.targets.test_spark_checkpoint import SAMPLE, _expected, _positions
from tests.with_cases import with_cases


def _edited(plan: Plan, folder: Path, *, disk: Disk | None = None, name: str = "receipt.json.journal") -> ReceiptStep:
    with journal(folder, name=name) as one:
        return in_place.write(plan, IN_PLACE, context(folder, journal=one, disk=disk))


@with_cases("name", NAMES)
def test_it_restarts_at_the_planned_positions_and_undoing_restores_every_byte_and_time(
    name: str, tmp_path: Path
) -> None:
    source = recorded(name, tmp_path)
    before, was = tree_hash(source), files_of(source)
    plan = drafted(str(source), rename=lambda topic: f"old.{topic}")

    step = _edited(plan, tmp_path)

    assert _positions(str(source)) == _expected(plan)
    assert in_place.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
    touched = {one.path for one in step.files}
    now = {path: data for path, data in files_of(source).items() if not path.startswith(".offsetwise-")}
    assert {path: data for path, data in now.items() if path not in touched} == {
        path: data for path, data in was.items() if path not in touched
    }
    assert all((source / one.kept_as).read_bytes() == was[one.path] for one in step.files if one.kept_as)
    assert _edited(plan, tmp_path) == step

    with journal(tmp_path) as one:
        undone = in_place.undo(plan, step, context(tmp_path, journal=one))
        assert in_place.undo(plan, step, context(tmp_path, journal=one)) == undone
    assert undone.state is StepState.UNDONE
    assert tree_hash(source) == before


def test_a_rewind_in_place_keeps_what_it_drops(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "source")
    source = aged(tmp_path / "source")
    before = tree_hash(source)
    plan = drafted(str(source), rewind_to=3)
    step = _edited(plan, tmp_path)

    assert _positions(str(source)) == _expected(plan)
    assert read_checkpoint(str(source)).details.progress.planned == 3
    assert not (source / "state/0/0/5.delta").exists()
    with journal(tmp_path, name="another") as one:
        in_place.undo(plan, step, context(tmp_path, journal=one))
    assert tree_hash(source) == before


def test_while_it_is_half_done_spark_fails_to_start(tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    seen = []

    class Watching(Disk):
        def rename(self, source_: str, path: str) -> None:
            super().rename(source_, path)
            seen.append([problem.message for problem in read_checkpoint(str(source)).problems])

    plan = drafted(str(source))
    step = _edited(plan, tmp_path, disk=Watching())
    assert len(seen) == 4
    with journal(tmp_path) as one:
        in_place.undo(plan, step, context(tmp_path, journal=one, disk=Watching()))

    assert len(seen) == 8, "there and back"
    for told in seen:
        assert any(re.fullmatch(r"offsets/4 is garbled: .* Spark fails on restart\.", one) for one in told)
    assert not (source / "offsets/4").exists()


def test_a_query_that_plans_a_batch_meanwhile_is_refused_and_nothing_has_changed(tmp_path: Path) -> None:
    source = recorded(STATE, tmp_path)
    before = files_of(source)

    class Meanwhile(Disk):
        def write_new(self, path: str, data: bytes, *, like: str | None = None, sync: bool = True) -> None:
            super().write_new(path, data, like=like, sync=sync)
            (source / "offsets/7").write_bytes(b"v1\n{}\n-")

    with pytest.raises(RunningQueryError, match="offsets/7: expected no such batch"):
        _edited(drafted(str(source)), tmp_path, disk=Meanwhile())

    assert files_of(source) == before | {"offsets/7": b"v1\n{}\n-"}


def test_a_file_that_changes_after_the_check_is_refused_and_nothing_has_changed(tmp_path: Path) -> None:
    source = recorded(STATE, tmp_path)
    before = files_of(source)

    class Meanwhile(Disk):
        def link(self, source_: str, path: str) -> bool:
            if path.endswith("offsets/7"):
                (source / "offsets/6").unlink()
                (source / "offsets/6").write_bytes(b"v1\n{}\n-")
            return super().link(source_, path)

    with pytest.raises(StalePlanError, match="somebody else has changed it"):
        _edited(drafted(str(source)), tmp_path, disk=Meanwhile())

    assert files_of(source) == before | {"offsets/6": b"v1\n{}\n-"}


def test_a_second_application_of_the_plan_is_refused(tmp_path: Path) -> None:
    source = recorded(STATE, tmp_path)
    plan = drafted(str(source))
    _edited(plan, tmp_path)
    before = tree_hash(source)

    with pytest.raises(StalePlanError):
        _edited(plan, tmp_path, name="another.journal")
    assert tree_hash(source) == before


@with_cases("ran", ["offsets/4", "commits/3", "offsets/3"])
def test_a_checkpoint_on_which_a_query_has_run_is_kept(ran: str, tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    plan = drafted(str(source))
    step = _edited(plan, tmp_path)
    (source / ran).write_bytes(b"v1\n{}\n-")
    before = tree_hash(source)

    with pytest.raises(ApplyError, match="Nothing was put back") as caught, journal(tmp_path) as one:
        in_place.undo(plan, step, context(tmp_path, journal=one))

    assert "failback" in caught.value.fix
    assert tree_hash(source) == before
    assert in_place.look(plan, step, context(tmp_path)).standing is StepStanding.CHANGED


def test_where_no_link_can_be_made_originals_are_copied(tmp_path: Path) -> None:
    class Without(Disk):
        def link(self, source: str, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
            return False

    source = recorded(PENDING, tmp_path)
    before = tree_hash(source)
    plan = drafted(str(source))
    step = _edited(plan, tmp_path, disk=Without())
    assert _positions(str(source)) == _expected(drafted_again(step, tmp_path))
    with journal(tmp_path) as one:
        in_place.undo(plan, step, context(tmp_path, journal=one, disk=Without()))

    assert tree_hash(source) == before


def drafted_again(step: ReceiptStep, folder: Path) -> Plan:
    """Draft the same plan from the originals that a step kept."""
    originals = folder / "originals"
    shutil.copytree(step.place, originals)
    for one in step.files:
        if one.kept_as is not None:
            shutil.copy(originals / one.kept_as, originals / one.path)
    return drafted(str(originals))


def test_an_object_store_has_no_place_to_edit_in() -> None:
    with pytest.raises(OutputError, match="no renames"):
        in_place.look(
            plan_of(),
            ReceiptStep(target=IN_PLACE, place="s3://b/x", state=StepState.DONE, told=""),
            context(Path("/nowhere")).__class__(digest="", output=None, write_roots=("s3://b",), read_roots=None),
        )
