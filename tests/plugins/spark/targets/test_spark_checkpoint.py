"""A copy with other positions: everything else kept, the original untouched, whole or absent."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import offsetwise
from offsetwise.apply.disk import Disk
from offsetwise.apply.writing import StepStanding, Writer
from offsetwise.errors import (
    ApplyError,
    OutputError,
    OutsideRootsError,
    RunningQueryError,
    StalePlanError,
    StorageError,
)
from offsetwise.model import AnyPosition, Plan, ReceiptStep, StepState
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.engine.offset_log import checksum_fits
from offsetwise.plugins.spark.targets.edit import Edited
from tests.apply.plans import (
    COPY,
    IN_PLACE,
    PENDING,
    POLLUTED,
    SHIFT,
    STATE,
    aged,
    context,
    drafted,
    files_of,
    in_place,
    journal,
    recorded,
    spark_checkpoint,
    tree_hash,
)
from tests.plugins.spark.folders import NAMES, checkpoint, orders, write
from tests.storage.test_paths import PAYLOADS
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample" / "checkpoints" / "orders"


def _copied(plan: Plan, folder: Path, *, disk: Disk | None = None) -> ReceiptStep:
    with journal(folder) as one:
        return spark_checkpoint.write(plan, COPY, context(folder, journal=one, disk=disk))


def _edited(plan: Plan, folder: Path) -> ReceiptStep:
    with journal(folder) as one:
        return in_place.write(plan, IN_PLACE, context(folder, journal=one))


def _positions(uri: str) -> dict[tuple[str, str, int], tuple[AnyPosition, AnyPosition | None]]:
    return {
        (source.id, one.topic, one.partition): (one.offset, one.planned_offset)
        for source in read_checkpoint(uri).sources
        for one in source.positions
    }


def _expected(plan: Plan) -> dict[tuple[str, str, int], tuple[AnyPosition, AnyPosition | None]]:
    return {
        (one.source, one.new_topic, one.partition): (
            one.new_offset,
            one.restart[1].new if len(one.restart) > 1 else None,
        )
        for one in plan.positions
    }


@with_cases("renamed", [False, True], ids=["same names", "renamed topics"])
@with_cases("name", NAMES)
def test_the_copy_restarts_at_the_planned_positions_and_keeps_the_rest(
    name: str, renamed: bool, tmp_path: Path
) -> None:
    source = recorded(name, tmp_path)
    before = tree_hash(source)
    plan = drafted(str(source), rename=(lambda topic: f"old.{topic}") if renamed else (lambda topic: topic))

    step = _copied(plan, tmp_path)

    copy = tmp_path / "out" / "copy"
    assert _positions(str(copy)) == _expected(plan)
    assert tree_hash(source) == before
    old, new = files_of(source), files_of(copy)
    touched = {one.path for one in step.files}
    assert {path: data for path, data in new.items() if path not in touched} == {
        path: data for path, data in old.items() if path not in touched
    }
    assert set(old) - set(new) == {one.path for one in step.files if one.sha256 is None and one.path in old}
    assert read_checkpoint(str(copy)).job_id == read_checkpoint(str(source)).job_id
    for path, data in new.items():
        folder, _, file = path.rpartition("/")
        if f"{folder}/.{file}.crc" in new:
            assert checksum_fits(data, new[f"{folder}/.{file}.crc"]), path
    assert list((tmp_path / "out").iterdir()) == [copy]
    assert step.state is StepState.DONE


def test_state_is_linked_and_everything_else_is_a_file_of_its_own(tmp_path: Path) -> None:
    source = recorded(STATE, tmp_path)
    _copied(drafted(str(source)), tmp_path)

    copy = tmp_path / "out" / "copy"
    for path in files_of(copy):
        same = os.path.samefile(copy / path, source / path)
        assert same == path.startswith("state/"), path


@with_cases("cannot", ["link", "link and clone"])
def test_where_no_link_can_be_made_state_is_copied(cannot: str, tmp_path: Path) -> None:
    class Without(Disk):
        def link(self, source: str, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
            return False

        def _clone(self, fd: int, source_fd: int, path: str) -> bool:
            return False if cannot == "link and clone" else super()._clone(fd, source_fd, path)

    source = recorded(STATE, tmp_path)
    _copied(drafted(str(source)), tmp_path, disk=Without())

    copy = tmp_path / "out" / "copy"
    state = {path: data for path, data in files_of(copy).items() if path.startswith("state/")}
    assert state == {path: data for path, data in files_of(source).items() if path.startswith("state/")}
    assert not any(os.path.samefile(copy / path, source / path) for path in state)


def test_a_copy_that_holds_other_bytes_than_were_read_does_not_appear(tmp_path: Path) -> None:
    class Flipping(Disk):
        def link(self, source: str, path: str) -> bool:  # noqa: ARG002 - as Disk declares it
            return False

        def _clone(self, fd: int, source_fd: int, path: str) -> bool:  # noqa: ARG002 - as above
            return False

        def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
            flipped = bytes([data[0] ^ 1, *data[1:]]) if path.endswith(".zip") else data
            return super()._write(fd, flipped, path)

    source = recorded(STATE, tmp_path)
    with pytest.raises(OutputError, match=r"\.zip: .*the copy holds other bytes than were read"):
        _copied(drafted(str(source)), tmp_path, disk=Flipping())

    assert list((tmp_path / "out").iterdir()) == []


def test_an_edit_that_no_restart_would_read_as_planned_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "offsetwise.plugins.spark.targets.rewrite.edit_offsets", lambda data, *_, **__: Edited(data=data, changes=())
    )
    source = recorded(STATE, tmp_path)

    with pytest.raises(ApplyError, match="a restart at the planned positions, found another one at"):
        _copied(drafted(str(source)), tmp_path)
    assert not (tmp_path / "out").exists()


def test_the_batch_before_a_committed_one_gets_the_same_positions(tmp_path: Path) -> None:
    source = write(checkpoint({0: orders(10), 1: orders(20), 2: orders(30)}, (0, 1, 2)), tmp_path / "source")
    _copied(drafted(str(aged(source))), tmp_path)

    copy = tmp_path / "out" / "copy"
    lines = {batch: (copy / "offsets" / str(batch)).read_text().splitlines()[2] for batch in range(3)}
    assert lines == {0: orders(10), 1: orders(30 + SHIFT, 20 + SHIFT), 2: orders(30 + SHIFT, 20 + SHIFT)}


def test_of_a_pending_batch_both_ends_are_translated(tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    _copied(drafted(str(source)), tmp_path)

    copy = tmp_path / "out" / "copy"
    assert (copy / "offsets" / "2").read_text().splitlines()[2] == '{"orders":{"1":512,"0":541}}'
    assert (copy / "offsets" / "3").read_text().splitlines()[2] == '{"orders":{"1":665,"0":687}}'
    assert not (copy / "commits" / "3").exists()


def test_a_pending_batch_that_the_plan_says_nothing_about_is_refused(tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    plan = drafted(str(source))
    half = replace(plan, positions=tuple(replace(one, restart=one.restart[:1]) for one in plan.positions))

    with pytest.raises(ApplyError, match="both ends of batch 3"):
        _copied(half, tmp_path)
    assert not (tmp_path / "out").exists()


def test_pending_batch_0_starts_from_the_rewritten_initial_offsets(tmp_path: Path) -> None:
    source = aged(write(checkpoint({0: orders(10)}), tmp_path / "source"))
    _copied(drafted(str(source)), tmp_path)

    copy = tmp_path / "out" / "copy"
    assert (copy / "sources/0/0").read_bytes() == b'\0v1\n{"orders":{"0":8,"1":8}}'
    assert (copy / "offsets/0").read_text().splitlines()[2] == orders(13, 23)


def test_before_the_first_batch_only_the_initial_offsets_change(tmp_path: Path) -> None:
    source = aged(write(checkpoint({}), tmp_path / "source"))
    step = _copied(drafted(str(source)), tmp_path)

    assert [one.path for one in step.files] == ["sources/0/0"]
    assert _positions(str(tmp_path / "out" / "copy")) == {("0", "orders", 0): (8, None), ("0", "orders", 1): (8, None)}


def test_a_polluted_batch_is_dropped(tmp_path: Path) -> None:
    source = recorded(POLLUTED, tmp_path)
    step = _copied(drafted(str(source)), tmp_path)

    copy = tmp_path / "out" / "copy"
    assert not list(copy.glob("offsets/*2*")) + list(copy.glob("offsets/.2*"))
    assert _positions(str(copy))["0", "orders", 0] == (1050 + SHIFT, None)
    assert {one.path for one in step.files if one.sha256 is None} == {"offsets/2", "offsets/.2.crc"}


def test_a_partition_that_the_checkpoint_lacks_is_added_everywhere_spark_looks(tmp_path: Path) -> None:
    source = aged(write(checkpoint({0: orders(10), 1: orders(20)}, (0, 1)), tmp_path / "source"))
    _copied(drafted(str(source), added=[("0", "orders", 2, 40)]), tmp_path)

    for batch in (0, 1):
        assert (tmp_path / f"out/copy/offsets/{batch}").read_text().splitlines()[2] == (
            f'{{"orders":{{"0":{20 + SHIFT},"1":{20 + SHIFT},"2":40}}}}'
        )


def test_in_a_pending_batch_an_added_partition_has_no_records(tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    plan = drafted(str(source), added=[("0", "orders", 2, 40)])
    _copied(plan, tmp_path)

    assert _positions(str(tmp_path / "out/copy"))["0", "orders", 2] == (40, 40)


@with_cases("write", [_copied, _edited], ids=["copy", "in place"])
def test_a_state_file_that_is_missing_is_refused_and_nothing_is_written(
    write: Callable[[Plan, Path], ReceiptStep], tmp_path: Path
) -> None:
    source = recorded(STATE, tmp_path)
    plan = drafted(str(source))
    newest = max(source.glob("state/0/0/*.zip"), key=lambda path: int(path.name.partition("_")[0]))
    newest.unlink()
    before = tree_hash(source)

    with pytest.raises(ApplyError, match=r"the state .*gone\. Nothing was written"):
        write(plan, tmp_path)
    assert tree_hash(source) == before
    assert not (tmp_path / "out/copy").exists()


class TestRewind:
    """Going back to an earlier retained batch."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        shutil.copytree(SAMPLE, tmp_path / "source")
        return aged(tmp_path / "source")

    def test_later_batches_and_the_state_they_made_are_left_out(self, source: Path, tmp_path: Path) -> None:
        newest = read_checkpoint(str(source)).details.progress.planned
        assert newest is not None
        plan = drafted(str(source), rewind_to=3)
        step = _copied(plan, tmp_path)

        copy = tmp_path / "out" / "copy"
        assert _positions(str(copy)) == _expected(plan)
        read = read_checkpoint(str(copy))
        assert (read.details.progress.planned, read.details.progress.committed) == (3, 3)
        versions = {int(path.name.split(".")[0]) for path in copy.rglob("*.delta")}
        assert max(versions) == 4
        assert not [path for path in copy.rglob(".*.delta.crc") if int(path.name.split(".")[1]) > 4]
        assert {one.path for one in step.files if one.sha256 is None} == set(files_of(source)) - set(files_of(copy))

    @with_cases("version", [2, 4], ids=["on the way", "the last one"])
    def test_a_state_that_is_gone_is_refused(self, version: int, source: Path, tmp_path: Path) -> None:
        (source / f"state/0/1/{version}.delta").unlink()

        with pytest.raises(ApplyError, match=f"version {version} of state/0/1 gone"):
            _copied(drafted(str(source), rewind_to=3), tmp_path)

    def test_a_state_that_only_a_commit_names_must_be_there(self, tmp_path: Path) -> None:
        source = recorded(STATE, tmp_path)
        plan = drafted(str(source), rewind_to=4)
        unique = json.loads((source / "commits/4").read_text().splitlines()[1])["stateUniqueIds"]["0"][0][0]
        kept = next(source.glob(f"state/0/0/5_{unique}.*"))
        kept.rename(kept.with_name(kept.name.replace(unique, "another")))

        with pytest.raises(ApplyError, match=re.escape(f"found state/0/0/5_{unique}.zip gone")):
            _copied(plan, tmp_path)

    def test_to_a_state_with_ids_it_works(self, tmp_path: Path) -> None:
        source = recorded(STATE, tmp_path)
        plan = drafted(str(source), rewind_to=4)
        _copied(plan, tmp_path)

        assert _positions(str(tmp_path / "out/copy")) == _expected(plan)
        assert not list((tmp_path / "out/copy/state").rglob("[67]_*.zip"))

    @with_cases("batch", [99, 7])
    def test_a_batch_that_is_not_committed_or_not_retained_is_refused(
        self, batch: int, source: Path, tmp_path: Path
    ) -> None:
        plan = replace(drafted(str(source), rewind_to=3), rewind_to=batch)

        with pytest.raises(ApplyError, match=f"batch {batch} to be retained"):
            _copied(plan, tmp_path)

    def test_a_batch_whose_forerunner_is_purged_is_refused(self, source: Path, tmp_path: Path) -> None:
        for path in ("offsets/2", "offsets/1", "offsets/0"):
            (source / path).unlink()

        with pytest.raises(ApplyError, match="offsets/2, which Spark reads"):
            _copied(drafted(str(source), rewind_to=3), tmp_path)


def _grow(source: Path) -> None:
    shutil.copy(source / "offsets/2", source / "offsets/4")


def _commit(source: Path) -> None:
    shutil.copy(source / "commits/2", source / "commits/3")


def _other_bytes(source: Path) -> None:
    path = source / "offsets/2"
    path.write_bytes(path.read_bytes().replace(b"509", b"510"))


def _other_query(source: Path) -> None:
    (source / "metadata").write_text('{"id":"f3a2"}')


def _gone(source: Path) -> None:
    (source / "offsets/2").unlink()


@with_cases("change", [_grow, _commit, _other_bytes, _other_query, _gone])
@with_cases("write", [_copied, _edited])
def test_a_checkpoint_that_moved_on_is_refused(
    write: Callable[[Plan, Path], ReceiptStep], change: Callable[[Path], None], tmp_path: Path
) -> None:
    source = recorded(PENDING, tmp_path)
    plan = drafted(str(source))
    change(source)
    before = tree_hash(aged(source))

    with pytest.raises(StalePlanError, match=r"as reviewed|that were reviewed"):
        write(plan, tmp_path)

    assert tree_hash(source) == before
    assert not (tmp_path / "out").exists()


@with_cases("write", [_copied, _edited])
@with_cases("leftover", ["offsets/.4.x.tmp", "state/0/0/.5.delta.x.TID3.tmp"])
def test_a_running_query_is_refused(leftover: str, write: Callable[[Plan, Path], ReceiptStep], tmp_path: Path) -> None:
    source = recorded(STATE, tmp_path)
    plan = drafted(str(source))
    (source / leftover).touch()

    with pytest.raises(RunningQueryError) as caught:
        write(plan, tmp_path)

    assert leftover in caught.value.problem
    assert "Stop the query" in caught.value.fix
    os.utime(source / leftover, (1, 1))
    assert write(plan, tmp_path).state is StepState.DONE


@with_cases("write", [_copied, _edited])
def test_a_pending_batch_that_was_planned_just_now_may_be_running(
    write: Callable[[Plan, Path], ReceiptStep], tmp_path: Path
) -> None:
    source = recorded(PENDING, tmp_path)
    os.utime(source / "offsets/3")

    with pytest.raises(RunningQueryError, match=r"batch 3 was planned .* may be running"):
        write(drafted(str(source)), tmp_path)


@with_cases("path", ["offsets/7", "state/0/0/8_x.zip", "commits/7"])
def test_a_source_that_changes_during_the_copy_is_refused_and_nothing_is_left(path: str, tmp_path: Path) -> None:
    class Meanwhile(Disk):
        def link(self, source: str, path_: str) -> bool:
            (tmp_path / "source" / path).write_bytes(b"x")
            return super().link(source, path_)

    source = recorded(STATE, tmp_path)
    with pytest.raises(RunningQueryError, match="changed"):
        _copied(drafted(str(source)), tmp_path, disk=Meanwhile())

    assert list((tmp_path / "out").iterdir()) == []


@with_cases(
    "taken",
    [
        lambda path: (path.mkdir(parents=True), (path / "x").touch()),
        lambda path: (path.parent.mkdir(parents=True), path.touch()),
    ],
    ids=["a folder with something in it", "a file"],
)
def test_a_place_that_is_taken_is_refused_and_left_alone(taken: Callable[[Path], object], tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    taken(tmp_path / "out" / "copy")
    before = tree_hash(tmp_path / "out")

    plan = drafted(str(source))
    for tried in (lambda: spark_checkpoint.prepare(plan, COPY, context(tmp_path)), lambda: _copied(plan, tmp_path)):
        with pytest.raises(OutputError, match="expected an empty folder or none"):
            tried()
    assert tree_hash(tmp_path / "out") == before


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    (tmp_path / "out" / "copy").mkdir(parents=True)

    assert _copied(drafted(str(recorded(PENDING, tmp_path))), tmp_path).state is StepState.DONE


@with_cases("inside", ["source/copy", "source", "source/state/copy"])
def test_an_output_inside_the_source_is_refused(inside: str, tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    before = tree_hash(source)

    with pytest.raises(OutputError, match="inside or around"), journal(tmp_path) as one:
        spark_checkpoint.write(
            drafted(str(source)), COPY, context(tmp_path, output=str(tmp_path / inside), journal=one)
        )
    assert tree_hash(source) == before


def test_an_output_around_the_source_is_refused(tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path / "a" / "b")

    with pytest.raises(OutputError, match="inside or around"):
        spark_checkpoint.prepare(drafted(str(source)), COPY, context(tmp_path, output=str(tmp_path / "a")))


@with_cases("payload", PAYLOADS, ids=ascii)
def test_no_spelling_of_the_output_leaves_the_write_roots(payload: str, tmp_path: Path) -> None:
    root = tmp_path / "data" / "ckpt"
    root.mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    source = recorded(PENDING, tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    inside = replace(context(tmp_path, output=payload.format(root=root)), write_roots=(str(root),))

    for call in (spark_checkpoint.prepare, spark_checkpoint.write):
        with pytest.raises((OutsideRootsError, OutputError)):
            call(drafted(str(source)), COPY, inside)

    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_without_write_roots_nothing_may_be_written(tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    nowhere = replace(context(tmp_path), write_roots=())

    for writer, target in ((spark_checkpoint, COPY), (in_place, IN_PLACE)):
        with pytest.raises(OutsideRootsError, match="none configured"):
            writer.prepare(plan, target, nowhere)


def test_a_write_root_itself_is_no_place_for_a_copy(tmp_path: Path) -> None:
    plan = drafted(str(recorded(PENDING, tmp_path)))
    root = str(tmp_path / "out")

    with pytest.raises(OutsideRootsError):
        spark_checkpoint.prepare(plan, COPY, replace(context(tmp_path, output=root), write_roots=(root,)))


def test_a_link_inside_the_checkpoint_is_not_followed(tmp_path: Path) -> None:
    source = recorded(STATE, tmp_path)
    plan = drafted(str(source))
    (source / "state" / "1").symlink_to("/etc")

    with pytest.raises(OutputError, match="files and folders only"):
        spark_checkpoint.prepare(plan, COPY, context(tmp_path))


@with_cases(
    ("made", "said"),
    [
        (lambda plan: replace(plan, positions=plan.positions[:1]), "only partitions of the plan"),
        (
            lambda plan: replace(plan, positions=tuple(replace(one, new_offset=7) for one in plan.positions)),
            "contradicts itself",
        ),
        (
            lambda plan: replace(plan, requirements=replace(plan.requirements, checkpoint=None)),
            "drafted from a consumer",
        ),
        (
            lambda plan: replace(plan, positions=tuple(replace(one, source="1") for one in plan.positions)),
            "sources/1/0",
        ),
        (lambda plan: replace(plan, positions=()), "both ends"),
        (lambda plan: replace(plan, dropped_batch=2), "batch 2, which the plan leaves out"),
    ],
    ids=["a partition missing", "two numbers", "of a group", "another source", "nothing", "another batch dropped"],
)
def test_a_plan_that_does_not_fit_is_refused(made: Callable[[Plan], Plan], said: str, tmp_path: Path) -> None:
    plan = made(drafted(str(recorded(PENDING, tmp_path))))

    with pytest.raises((ApplyError, StorageError), match=said):
        spark_checkpoint.prepare(plan, COPY, context(tmp_path))


@with_cases("writer", [spark_checkpoint, in_place], ids=["copy", "in place"])
def test_a_dry_run_shows_every_number_and_writes_nothing(writer: Writer, tmp_path: Path) -> None:
    source = recorded(PENDING, tmp_path)
    before = tree_hash(tmp_path)
    shown = writer.prepare(drafted(str(source), rename=lambda topic: f"old.{topic}"), COPY, context(tmp_path))

    assert tree_hash(tmp_path) == before
    assert {
        (file.path, one.topic, one.partition, one.before, one.new_topic, one.after)
        for file in shown.files
        for one in file.numbers
    } == {
        ("offsets/2", "orders", 1, 509, "old.orders", 512),
        ("offsets/2", "orders", 0, 538, "old.orders", 541),
        ("offsets/3", "orders", 1, 662, "old.orders", 665),
        ("offsets/3", "orders", 0, 684, "old.orders", 687),
    }
    assert "with 4 number(s) changed in 2 file(s)" in shown.told


class TestAfterwards:
    """Looking at a copy, applying again, and taking it back."""

    def test_the_same_call_again_changes_nothing(self, tmp_path: Path) -> None:
        plan = drafted(str(recorded(STATE, tmp_path)))
        step = _copied(plan, tmp_path)
        before = tree_hash(tmp_path / "out")

        assert _copied(plan, tmp_path) == step
        assert tree_hash(tmp_path / "out") == before

    def test_undoing_removes_the_copy_and_leaves_the_original(self, tmp_path: Path) -> None:
        source = recorded(STATE, tmp_path)
        before = tree_hash(source)
        plan = drafted(str(source))
        step = _copied(plan, tmp_path)

        with journal(tmp_path) as one:
            undone = spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))
            assert spark_checkpoint.undo(plan, step, context(tmp_path, journal=one)) == undone
            assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.ABSENT

        assert undone.state is StepState.UNDONE
        assert list((tmp_path / "out").iterdir()) == []
        assert tree_hash(source) == before

    def test_after_undoing_it_can_be_applied_again(self, tmp_path: Path) -> None:
        plan = drafted(str(recorded(STATE, tmp_path)))
        step = _copied(plan, tmp_path)
        before = files_of(tmp_path / "out")
        with journal(tmp_path) as one:
            spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))

        assert _copied(plan, tmp_path) == step
        assert files_of(tmp_path / "out") == before

    def test_with_the_receipt_alone_it_can_be_undone(self, tmp_path: Path) -> None:
        plan = drafted(str(recorded(STATE, tmp_path)))
        step = _copied(plan, tmp_path)
        with journal(tmp_path, name="another.journal") as one:
            spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))

        assert list((tmp_path / "out").iterdir()) == []

    @with_cases(
        ("ran", "said"),
        [
            (lambda copy: shutil.copy(copy / "offsets/3", copy / "offsets/4"), "offsets/4 is there"),
            (lambda copy: shutil.copy(copy / "commits/2", copy / "commits/3"), "commits/3 was left out, and is there"),
            (lambda copy: (copy / "offsets/3").write_bytes(b"x"), "offsets/3 is not as it was written"),
            (lambda copy: (copy / "offsets/3").unlink(), "offsets/3 is gone"),
        ],
        ids=["a batch planned", "the pending batch committed", "a file changed", "a file gone"],
    )
    def test_a_copy_on_which_a_query_has_run_is_kept(
        self, ran: Callable[[Path], object], said: str, tmp_path: Path
    ) -> None:
        plan = drafted(str(recorded(PENDING, tmp_path)))
        step = _copied(plan, tmp_path)
        copy = tmp_path / "out" / "copy"
        assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.AS_WRITTEN
        ran(copy)
        before = tree_hash(copy)

        with pytest.raises(ApplyError, match=said) as caught, journal(tmp_path) as one:
            spark_checkpoint.undo(plan, step, context(tmp_path, journal=one))

        assert "failback" in caught.value.fix
        assert tree_hash(copy) == before
        assert spark_checkpoint.look(plan, step, context(tmp_path)).standing is StepStanding.CHANGED
