"""Processes that outlive the command that started them, identified safely.

A process is identified by its pid **and** its start time: the pid alone may belong to another process by the time it is
stopped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    started: str
    """Its start time as reported by the system; compared for equality only."""


def start(command: Sequence[str], *, log: Path) -> Process:
    log.parent.mkdir(parents=True, exist_ok=True)
    to_log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, to_log, 1), (os.POSIX_SPAWN_DUP2, to_log, 2)]
    try:
        pid = os.posix_spawn(command[0], list(command), dict(os.environ), file_actions=actions, setpgroup=0)
    finally:
        os.close(to_log)
        os.close(nothing)
    return Process(pid=pid, started=_start_time(pid) or "")


def is_alive(process: Process) -> bool:
    _reap(process.pid)
    return process.started != "" and _start_time(process.pid) == process.started


def stop(process: Process, *, grace_s: float) -> None:
    """Ask the process to end, wait `grace_s`, then kill it and its group. Does nothing if it is gone."""
    if not is_alive(process):
        return
    os.kill(process.pid, signal.SIGTERM)
    if not _gone_within(process, grace_s):
        os.killpg(process.pid, signal.SIGKILL)
        _gone_within(process, 10)


def _gone_within(process: Process, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while is_alive(process):
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


def _start_time(pid: int) -> str | None:
    """Return the start time of a running process, None if it has ended: from proc(5) on Linux, else from ps(1)."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # A killed JVM's first thread is a zombie while its other threads still hold the ports.
        ended = fields[0] == "Z" and int(fields[17]) <= 1
        return None if ended else f"{boot}/{fields[19]}"
    said = subprocess.run(["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607 - a number
    state, _, started = said.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
