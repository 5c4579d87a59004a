from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path

from offsetwise.lab.processes import is_alive, start, stop

TALKATIVE = "import time; print('hello', flush=True); time.sleep(60)"
START_LIMIT_S = 60
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def test_a_stopped_process_is_gone_and_its_output_is_in_the_log(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", TALKATIVE], log=tmp_path / "x")
    assert is_alive(process)
    _wait_for_log(tmp_path / "x")
    stop(process, grace_s=10)
    assert not is_alive(process)
    assert (tmp_path / "x").read_text() == "hello\n"


def test_a_process_that_ignores_the_request_is_killed_after_the_grace(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", STUBBORN], log=tmp_path / "x")
    _wait_for_log(tmp_path / "x")
    stop(process, grace_s=0.2)
    assert not is_alive(process)


def test_a_reused_pid_is_never_taken_for_ours_and_never_stopped(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", "import time; time.sleep(60)"], log=tmp_path / "x")
    other = dataclasses.replace(process, started="another time")
    assert not is_alive(other)
    stop(other, grace_s=0)
    assert is_alive(process)
    stop(process, grace_s=10)


def test_a_process_that_ended_by_itself_is_not_alive(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", ""], log=tmp_path / "x")
    end = time.monotonic() + START_LIMIT_S
    while is_alive(process) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_alive(process)


def _wait_for_log(log: Path) -> None:
    end = time.monotonic() + START_LIMIT_S
    while not log.read_text() and time.monotonic() < end:
        time.sleep(0.02)
