"""What `spec/reliability.md` promises about writing: killed, failed, filled up or raced, nothing is ever partial."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from offsetwise.apply.disk import Disk
from offsetwise.errors import ApplyError
from offsetwise.plan.target import Where, target_types
from tests.apply.faults import Fault, FaultyDisk, FullDisk, UnsyncedDisk
from tests.apply.plans import files_of
from tests.apply.scenarios import SCENARIOS, Stage
from tests.gates import FULL, PART, of_all
from tests.with_cases import with_cases

LIB = Path(__file__).parent.parent.parent / "lib"
KILLED = {name: scenario.every * PART for name, scenario in SCENARIOS.items()}
"""By name, one of how many kills is tried."""
ONE_EACH = [*{scenario.target.kind: name for name, scenario in reversed(SCENARIOS.items())}.values()]
"""The first scenario of each kind of target."""
RACES = [*product(ONE_EACH, (True, False))]
"""Who races: appliers to a target, with one journal or with one each."""
SEED = 20261121


def test_every_target_that_writes_files_goes_through_the_gates() -> None:
    files = {target.name for target in target_types() if target.where in (Where.OUTPUT, Where.CHECKPOINT)}

    assert files == {scenario.target.kind for scenario in SCENARIOS.values()}


def test_a_kill_at_any_step_leaves_nothing_partial(quick_path: Path, figure: Callable[[str], None]) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(max_workers=2) as pool:
        told = dict(zip(KILLED, pool.map(lambda name: _kill(name, quick_path), KILLED), strict=True))
    seconds = time.monotonic() - begun
    kills, during = (sum(each[what] for each in told.values()) for what in ("kills", "in_recovery"))
    used_s = sum(each["processor_seconds"] for each in told.values())
    failures = [f"{name}: {one}" for name, each in told.items() for one in each["failures"]]

    figure(
        f"SIGKILL at every {PART}. write step of apply, resume and rollback (seed {SEED}): {kills:,} kills, {during:,} "
        f"of them during a recovery, in {seconds:.0f} s ({used_s:.0f} s of processor time), {len(failures)} left "
        "something partial"
    )
    assert failures == []
    assert during > kills // 4
    assert kills >= 2_000 // PART
    if FULL:
        # Of the processor, which says the same on a busy machine; two scenarios run at once.
        assert used_s / 2 <= 180


def _kill(name: str, folder: Path) -> dict[str, Any]:
    own = folder / name
    own.mkdir()
    told: dict[str, Any] = _ran("tests.apply.kills", name, str(own), str(KILLED[name]), str(SEED))
    return told


def _ran(module: str, *given: str) -> Any:
    ran = subprocess.run(
        [sys.executable, "-m", module, *given],
        capture_output=True,
        text=True,
        check=False,
        cwd=LIB.parent,
        env={**os.environ, "PYTHONPATH": str(LIB)},
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(params=list(SCENARIOS))
def stage(request: pytest.FixtureRequest, quick_path: Path) -> Stage:
    return SCENARIOS[request.param].stage(quick_path)


def _calls(action: Callable[[Disk], object]) -> int:
    counting = FaultyDisk()
    action(counting)
    return counting.calls


def _refused(action: Callable[[Disk], object], disk: Disk) -> ApplyError | None:
    try:
        action(disk)
    except ApplyError as error:
        return error
    return None


def test_a_failing_disk_at_any_call_leaves_nothing_partial(stage: Stage, figure: Callable[[str], None]) -> None:
    chosen = random.Random(SEED)
    count, failed = 0, 0
    calls = _calls(stage.apply)
    first = 1 + chosen.randrange((calls - 1) % PART + 1)  # of every PART-th call none fewer for it
    for at in range(first, calls + 1, PART):
        for fault in Fault:
            for sticky in (False, True):
                stage.reset()
                error = _refused(stage.apply, FaultyDisk(at=at, fault=fault, sticky=sticky))
                stage.must_be_whole_or_absent()
                count += 1
                if error is not None:
                    failed += 1
                    _must_help(error, stage, fault)
                    if stage.makes_a_folder and not sticky:
                        _must_be_clean(stage)
                stage.apply(UnsyncedDisk())
                stage.must_be_applied()
                stage.roll_back(UnsyncedDisk())
                stage.must_be_as_before()
    figure(
        f"disk faults while applying, {stage.name} (every {PART}. call, seed {SEED}): {count:,} runs, {failed:,} "
        "refused, 0 partial"
    )


def test_a_failing_disk_at_any_call_of_a_rollback_leaves_nothing_partial(
    stage: Stage, figure: Callable[[str], None]
) -> None:
    count, failed = 0, 0
    stage.apply(UnsyncedDisk())
    calls = _calls(stage.roll_back)
    for at in range(1, calls + 1, 1 if FULL else max(1, calls // 12)):
        for fault in Fault:
            for sticky in (False, True):
                stage.reset()
                stage.apply(UnsyncedDisk())
                error = _refused(stage.roll_back, FaultyDisk(at=at, fault=fault, sticky=sticky))
                stage.must_be_whole_or_absent()
                count += 1
                if error is not None:
                    failed += 1
                    _must_help(error, stage, fault)
                stage.roll_back(UnsyncedDisk())
                stage.must_be_as_before()
    figure(f"disk faults while rolling back, {stage.name}: {count:,} runs, {failed:,} refused, 0 partial")


def _must_help(error: ApplyError, stage: Stage, fault: Fault) -> None:
    assert str(stage.folder) in error.problem, "it names no file"
    assert fault is Fault.SHORT_WRITE or f"({fault})" in error.problem, error.problem
    assert re.search(r"Free space|write access|Check the disk", error.fix), error.fix


def _must_be_clean(stage: Stage) -> None:
    out = stage.folder / "out"
    found = sorted(path.name for path in out.iterdir()) if out.exists() else []
    assert found in ([], ["copy"]), "what failed once was not cleaned up"


def test_a_disk_that_is_full_leaves_nothing_partial(stage: Stage, figure: Callable[[str], None]) -> None:
    written, refused = sum(len(data) for data in (stage.new or {}).values()), 0
    for level in range(20):
        stage.reset()
        error = _refused(stage.apply, FullDisk(written * level // 20))
        stage.must_be_whole_or_absent()
        if error is not None:
            refused += 1
            assert "(ENOSPC)" in error.problem
            assert "Free space" in error.fix or "Check the disk" in error.fix
        stage.apply(UnsyncedDisk())
        stage.must_be_applied()
    figure(f"a full disk, {stage.name}: 20 levels, {refused} refused, 0 partial")


@contextmanager
def _small(folder: Path) -> Iterator[Path]:
    """Mount 8 MB, as far as this user may."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root; the same levels run without one above")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@with_cases("name", ONE_EACH)
def test_a_small_file_system_at_20_levels_of_fill_leaves_nothing_partial(
    name: str, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    with _small(tmp_path / "small") as small:
        stage = SCENARIOS[name].stage(small)
        refused = 0
        for level in range(20):
            stage.reset()
            fill = small / "fill"
            _fill(fill, leave_bytes=level * 8192)
            refused += _refused(stage.apply, Disk()) is not None
            stage.must_be_whole_or_absent()
            fill.unlink()
            stage.apply(Disk())
            stage.must_be_applied()
        assert refused > 0
    figure(f"a file system of 8 MB, {name}: 20 levels, {refused} refused, 0 partial")


def _fill(path: Path, *, leave_bytes: int) -> None:
    with path.open("wb", buffering=0) as stream:
        with suppress(OSError):
            while True:
                stream.write(b"x" * 65536)
        stream.truncate(max(0, stream.tell() - leave_bytes))


@with_cases(("name", "shared"), of_all(RACES, RACES[::3]))
def test_of_20_appliers_at_once_exactly_one_wins(
    name: str, shared: bool, quick_path: Path, figure: Callable[[str], None]
) -> None:
    rounds = ceil(50 / PART)
    kind = "shared" if shared else "own"
    begun = time.monotonic()
    told = _ran("tests.apply.race", name, str(quick_path), str(rounds), kind)
    winners = told["winners"]
    figure(
        f"20 appliers at once, {name}, {'one journal' if shared else 'a journal each'}: {len(winners)} rounds in "
        f"{time.monotonic() - begun:.0f} s, exactly one winner in {winners.count(1)}"
    )
    assert told["failures"] == []
    assert winners == [1] * rounds


def test_two_kills_in_a_row_leave_files_of_one_attempt_only(tmp_path: Path) -> None:
    """What the first attempt left is removed by the second, which names its own before it makes it."""
    stage = SCENARIOS["copy"].stage(tmp_path)
    sticky = FaultyDisk(at=30, fault=Fault.EIO, sticky=True)
    assert _refused(stage.apply, sticky) is not None
    assert len(list((tmp_path / "out").iterdir())) == 1

    assert _refused(stage.apply, FaultyDisk(at=60, fault=Fault.EIO, sticky=True)) is not None

    assert len(list((tmp_path / "out").iterdir())) <= 1
    stage.apply(UnsyncedDisk())
    stage.must_be_applied()
    assert files_of(tmp_path / "out" / "copy") == stage.new


def test_a_seeded_checkpoint_that_was_gone_on_with_is_told_as_it_stands(quick_path: Path) -> None:
    """Its id is made up by each call; what counts is the one that was published."""
    stage = SCENARIOS["seeded"].stage(quick_path)
    for at in range(1, _calls(stage.apply) + 1):
        stage.reset()
        _refused(stage.apply, FaultyDisk(at=at, fault=Fault.EIO, sticky=True))
        step = stage.apply(UnsyncedDisk())
        for each in step.files:
            assert sha256((stage.folder / "out" / "copy" / each.path).read_bytes()).hexdigest() == each.sha256, at
        stage.roll_back(UnsyncedDisk())
        stage.must_be_as_before()
