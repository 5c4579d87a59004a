"""Processes of the tests' own consoles, forked from one that has imported what a console imports.

To import it takes a core longer than most tests look at a page. What people start, the command, is started anew.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.browser.imported"])


class Forked:
    """A module that runs as `python -m` runs it; what its process is asked has the names of `subprocess.Popen`."""

    def __init__(self, module: str, arguments: Sequence[str], *, log: Path, env: Mapping[str, str], cwd: Path) -> None:
        self._process = _CONTEXT.Process(target=_run, args=(module, (*arguments,), log, dict(env), cwd))
        with pytest.MonkeyPatch.context() as patch:
            # A page that was tested in this process is its main module, which a new process would run.
            patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
            self._process.start()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._process.exitcode

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def wait(self, timeout: float) -> None:
        """Wait until it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout)


def _run(module: str, arguments: tuple[str, ...], log: Path, env: dict[str, str], cwd: Path) -> None:
    with log.open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)
