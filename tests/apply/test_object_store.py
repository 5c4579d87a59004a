"""Copies on S3, Azure and Google: server-side, guarded while they grow, absent until their marker is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.disk import Disk
from offsetwise.apply.fitting import requirement
from offsetwise.apply.object_store import COPY_MARKER as MARKER
from offsetwise.apply.verification import verify
from offsetwise.apply.writing import Context, StepStanding, Writer
from offsetwise.config import Migration
from offsetwise.engines.checkpoint import read_checkpoint as read_any
from offsetwise.errors import ApplyError, OutputError, OutsideRootsError, RunningQueryError
from offsetwise.model import Plan, Receipt, ReceiptStep, StepState, Turnout
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from tests.apply.plans import (
    COPY,
    DIGEST,
    POLLUTED,
    SAVEPOINT,
    STATE,
    drafted,
    flink_savepoint,
    journal,
    spark_checkpoint,
)
from tests.gates import FULL, of_all
from tests.plugins.flink.files import positions
from tests.plugins.spark.folders import checkpoint, orders, sample_files, without_checksums
from tests.plugins.spark.targets.test_spark_checkpoint import _expected, _positions
from tests.stores import BUCKET, S3, Store

_T = TypeVar("_T")


class Failing(Disk):
    """Fails at one call, before it or after it was done (a lost reply)."""

    def __init__(self, at: int, *, lost_reply: bool = False) -> None:
        self.calls: list[str] = []
        self._at = at
        self._lost_reply = lost_reply

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        if "://" not in path:
            return super().call(name, path, action)
        self.calls.append(name)
        if len(self.calls) != self._at:
            return super().call(name, path, action)
        if self._lost_reply:
            action()
        raise OSError("connection reset")


def _root(plan: Plan) -> str:
    """Return the write root beside the folder of a plan's checkpoint."""
    return requirement(plan).uri.removesuffix("source") + "out"


def _place(plan: Plan) -> str:
    return f"{_root(plan)}/copy"


def _context(plan: Plan, one: Any = None, disk: Disk | None = None, output: str | None = None) -> Context:
    return Context(
        digest=DIGEST,
        output=output or _place(plan),
        write_roots=(_root(plan),),
        read_roots=None,
        journal=one,
        disk=disk or Disk(),
        young_s=0,
    )


def _plan(store: Store, name: str | None = None) -> tuple[Plan, dict[str, bytes]]:
    small = checkpoint({0: orders(10), 1: orders(20)}, (0, 1)) | {
        f"state/0/0/{version}.delta": b"x" * 100 for version in (1, 2)
    }
    files = small if name is None else without_checksums(sample_files(name))
    if name is not None and name.startswith("flink"):
        files |= {"5e2c": b"state of another operator"}
        return replace(drafted(store.put("source", files)), targets=(SAVEPOINT,)), files
    return drafted(store.put("source", files)), files


def _write(plan: Plan, folder: Path, disk: Disk | None = None, *, name: str = "journal") -> ReceiptStep:
    with journal(folder, name=name) as one:
        return _writer(plan).write(plan, plan.targets[0], _context(plan, one, disk))


def _writer(plan: Plan) -> Writer:
    return flink_savepoint if plan.targets == (SAVEPOINT,) else spark_checkpoint


@pytest.mark.parametrize("name", [STATE, POLLUTED])
def test_the_copy_restarts_at_the_planned_positions_and_keeps_the_rest(name: str, store: Store, tmp_path: Path) -> None:
    plan, files = _plan(store, name)
    step = _write(plan, tmp_path)

    made = store.objects("out/copy")
    touched = {one.path for one in step.files}
    assert _positions(_place(plan)) == _expected(plan)
    assert {path: data for path, data in made.items() if path not in touched | {MARKER}} == {
        path: data for path, data in files.items() if path not in touched
    }
    assert DIGEST.encode() in made[MARKER]
    assert store.objects("source") == files
    assert step.place == _place(plan)
    assert _writer(plan).look(plan, step, _context(plan)).standing is StepStanding.AS_WRITTEN
    assert _write(plan, tmp_path) == step
    assert store.objects("out/copy") == made


def test_nothing_is_downloaded_but_what_is_edited(s3: S3, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan, _ = _plan(s3)
    caplog.set_level("INFO", "werkzeug")
    caplog.clear()
    _write(plan, tmp_path)

    got = [record.getMessage() for record in caplog.records if '"GET /' in record.getMessage()]
    assert not [line for line in got if "/source/state/" in line and "list-type" not in line]


def test_a_savepoint_is_copied_inside_the_store_verified_and_taken_back(store: Store, tmp_path: Path) -> None:
    plan, files = _plan(store, "flink-2.2-enumerator-v3")
    step = _write(plan, tmp_path)

    made = store.objects("out/copy")
    assert positions(read_any(_place(plan))) == {one.new_topic_partition: one.new_offset for one in plan.positions}
    assert {*made} == {*files, MARKER}
    assert made["5e2c"] == files["5e2c"]
    assert store.objects("source") == files
    receipt = Receipt(plan_digest=DIGEST, plan=plan, begun_at="now", ended_at="now", approvers=(), steps=(step,))
    eyes = LiveReaders(migration=_migration(plan))
    assert {each.turnout for each in verify(receipt, eyes, verified_at="now").positions} == {Turnout.CONFIRMED}

    store.delete(f"out/copy/{MARKER}")
    assert _writer(plan).look(plan, step, _context(plan)).standing is StepStanding.ABSENT
    assert {each.turnout for each in verify(receipt, eyes, verified_at="now").positions} == {Turnout.UNKNOWN}
    with journal(tmp_path, name="journal") as one:
        assert flink_savepoint.undo(plan, step, _context(plan, one)).state is StepState.UNDONE
    assert store.objects("out/copy") == {}


def _migration(plan: Plan) -> Migration:
    return Migration.model_validate(
        {
            "name": "test",
            "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
            "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
            "checkpoint_roots": [requirement(plan).uri],
            "write_roots": [_root(plan)],
        }
    )


FAILURES = [*product((None, "flink-1.20"), (False, True))]
"""What is copied, a checkpoint of Spark where it is None, and whether the request fails after it was done."""


@pytest.mark.parametrize(("name", "lost_reply"), of_all(FAILURES, (FAILURES[0], FAILURES[-1])))
def test_a_failure_at_any_request_leaves_no_marker_and_the_same_call_goes_on(
    name: str | None,
    lost_reply: bool,
    store: Store,
    tmp_path: Path,
) -> None:
    plan, files = _plan(store, name)
    counting = Failing(0)
    whole = _objects_after(plan, tmp_path, counting, store)
    for at in range(1, len(counting.calls) + 1, 1 if FULL else 8):
        kept = f"{at}.journal"
        try:
            step = _write(plan, tmp_path, Failing(at, lost_reply=lost_reply), name=kept)
        except OutputError as error:
            assert _place(plan) in error.problem  # noqa: PT017 - a lost reply that is settled by reading is no error
            assert MARKER not in store.objects("out/copy")
            assert _problem_or_absent(plan)
        step = _write(plan, tmp_path, name=kept)
        assert {path: data for path, data in store.objects("out/copy").items() if path != MARKER} == whole
        with journal(tmp_path, name=kept) as one:
            _writer(plan).undo(plan, step, _context(plan, one))
        assert store.objects("out/copy") == {}
        assert store.objects("source") == files


def _objects_after(plan: Plan, folder: Path, disk: Disk, store: Store) -> dict[str, bytes]:
    step = _write(plan, folder, disk, name="first.journal")
    made = {path: data for path, data in store.objects("out/copy").items() if path != MARKER}
    with journal(folder, name="first.journal") as one:
        _writer(plan).undo(plan, step, _context(plan, one))
    return made


def _problem_or_absent(plan: Plan) -> bool:
    """Return whether Spark would refuse to start on what is there, or finds it whole or nothing at all."""
    try:
        read = read_checkpoint(_place(plan))
    except Exception:  # noqa: BLE001 - nothing there
        return True
    return read.problems == () or any("garbled" in problem.message for problem in read.problems)


def test_a_rollback_that_fails_at_any_request_goes_on(store: Store, tmp_path: Path) -> None:
    plan, files = _plan(store)
    for at in range(1, 6, 1 if FULL else 3):
        name = f"{at}.journal"
        step = _write(plan, tmp_path, name=name)
        try:
            with journal(tmp_path, name=name) as one:
                spark_checkpoint.undo(plan, step, _context(plan, one, Failing(at)))
        except OutputError:
            assert _writer(plan).look(plan, step, _context(plan)).standing in (
                StepStanding.ABSENT,
                StepStanding.AS_WRITTEN,
            )
        with journal(tmp_path, name=name) as one:
            assert spark_checkpoint.undo(plan, step, _context(plan, one)).state is StepState.UNDONE
        assert store.objects("out/copy") == {}
    assert store.objects("source") == files


def test_a_place_that_is_taken_is_refused_and_left_alone(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)
    store.put("out/copy", {"x": b"mine"})

    with pytest.raises(OutputError, match="found something there"):
        spark_checkpoint.prepare(plan, COPY, _context(plan))
    with pytest.raises(OutputError, match="found something there"):
        _write(plan, tmp_path)
    assert store.objects("out/copy") == {"x": b"mine"}


def test_while_another_one_copies_to_the_same_place_nobody_else_does(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)
    turned_away = []

    class Second(Disk):
        def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
            if name == "copy":
                with pytest.raises(OutputError) as caught:
                    _write(plan, tmp_path, name="another.journal")
                turned_away.append(caught.value.problem)
            return super().call(name, path, action)

    _write(plan, tmp_path, Second())

    assert len(turned_away) == 1
    assert _positions(_place(plan)) == _expected(plan)


def test_one_that_looked_before_the_other_came_and_went_is_turned_away(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)

    class Late(Disk):
        def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
            if name == "put-if-absent" and not path.endswith(MARKER):
                _write(plan, tmp_path, name="another.journal")
            return super().call(name, path, action)

    with pytest.raises(OutputError, match="found something there"):
        _write(plan, tmp_path, Late())

    assert _positions(_place(plan)) == _expected(plan)
    assert MARKER in store.objects("out/copy")


def test_a_source_that_changes_during_the_copy_is_refused(store: Store, tmp_path: Path) -> None:
    plan, files = _plan(store)

    def changed(at: str) -> None:
        class Meanwhile(Disk):
            def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
                if name == at:
                    store.put("source", {"offsets/2": b"v1\n{}\n-"})
                return super().call(name, path, action)

        with pytest.raises(RunningQueryError, match="changed"):
            _write(plan, tmp_path, Meanwhile(), name=at)
        assert MARKER not in store.objects("out/copy")

    changed("put-if-absent")  # the guard, once the edits are decided
    for prefix, kept in (("out/copy", {}), ("source", files)):
        for path in store.objects(prefix).keys() - kept.keys():
            store.delete(f"{prefix}/{path}")
    changed("copy")


def test_a_copy_without_its_marker_counts_as_absent(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)
    step = _write(plan, tmp_path)
    store.delete(f"out/copy/{MARKER}")

    assert _writer(plan).look(plan, step, _context(plan)).standing is StepStanding.ABSENT


def test_a_copy_on_which_a_query_has_run_is_kept(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)
    step = _write(plan, tmp_path)
    store.put("out/copy", {"offsets/2": b"v1\n{}\n-"})
    before = store.objects("out/copy")

    assert _writer(plan).look(plan, step, _context(plan)).standing is StepStanding.CHANGED
    with pytest.raises(ApplyError, match="offsets/2 is there") as caught, journal(tmp_path) as one:
        spark_checkpoint.undo(plan, step, _context(plan, one))
    assert "failback" in caught.value.fix
    assert store.objects("out/copy") == before


def test_a_query_that_begins_on_a_copy_while_it_is_taken_back_keeps_it(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)
    step = _write(plan, tmp_path)
    whole = store.objects("out/copy")
    begun = {"offsets/2": b"v1\n{}\n-"}

    class Beginning(Disk):
        def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
            if "://" in path and "offsets/2" not in store.objects("out/copy"):
                store.put("out/copy", begun)
            return super().call(name, path, action)

    for disk in (Beginning(), Disk()):
        with pytest.raises(ApplyError, match="offsets/2 is there") as caught, journal(tmp_path, name="journal") as one:
            spark_checkpoint.undo(plan, step, _context(plan, one, disk))
        assert "failback" in caught.value.fix
        assert store.objects("out/copy") == whole | begun


def test_a_copy_on_which_a_query_has_run_is_copied_again_with_a_marker_of_its_own(store: Store, tmp_path: Path) -> None:
    plan, files = _plan(store)
    _write(plan, tmp_path)
    store.put("out/copy", {"offsets/2": files["offsets/1"]})
    failback, output = drafted(_place(plan)), f"{_root(plan)}/back"

    with journal(tmp_path, name="back") as one:
        step = spark_checkpoint.write(failback, COPY, _context(plan, one, output=output))

    assert _positions(output) == _expected(failback)
    assert spark_checkpoint.look(failback, step, _context(plan)).standing is StepStanding.AS_WRITTEN
    first, second = (store.objects(f"out/{name}")[MARKER] for name in ("copy", "back"))
    assert first != second


def test_a_bucket_that_refuses_conditional_writes_is_said(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)

    with pytest.raises(OutputError) as caught:
        _write(plan, tmp_path, Failing(1))
    assert "put-if-absent" in caught.value.problem
    assert "refuse conditional writes" in caught.value.fix


def test_outside_the_write_roots_nothing_is_written(store: Store) -> None:
    plan, _ = _plan(store)
    another = store.root.replace(BUCKET, "another")

    for output in (
        f"{store.root}/elsewhere",
        f"{store.root}/out/../x",
        f"{another}/out/copy",
        f"{store.root}/out-evil/x",
    ):
        with pytest.raises(OutsideRootsError):
            spark_checkpoint.prepare(plan, COPY, _context(plan, output=output))


def test_a_copy_to_another_file_system_is_refused(store: Store, tmp_path: Path) -> None:
    plan, _ = _plan(store)
    away = Context(
        digest=DIGEST, output=str(tmp_path / "out"), write_roots=(str(tmp_path),), read_roots=None, journal=None
    )

    with pytest.raises(OutputError, match="expected a location on the file system of the checkpoint"):
        spark_checkpoint.prepare(plan, COPY, away)
