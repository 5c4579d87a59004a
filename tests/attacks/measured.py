"""What handling one file costs a Python process: in a process of its own, so that nothing else is counted."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

MAX_ADDED_BYTES: Final = 512 * 1024 * 1024
MAX_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call took."""

    answer: str
    """What the function gave, or the error it raised."""
    added_bytes: int
    """The most memory that the process held, above what it held before."""
    seconds: float
    """Of the processor, so that a busy machine does not matter."""


def measure(function: Callable[[str], str], paths: Iterable[Path]) -> dict[str, Cost]:
    """Call a function of a test module with each of these files, each time in a new process.

    Args:
        function: Takes a path and gives its answer.
        paths: The files.

    Returns:
        The cost by the file's name.
    """
    named = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", __name__, named, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return {name: Cost(**cost) for name, cost in map(json.loads, done.stdout.splitlines())}


def _main(named: str, paths: list[str]) -> None:
    module, _, name = named.partition(":")
    function = getattr(importlib.import_module(module), name)
    for path in paths:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print(json.dumps([Path(path).name, asdict(_cost(function, path))]), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"{path}: the process ended with {status}")


def _cost(function: Callable[[str], str], path: str) -> Cost:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, begun = _peak_bytes(), time.process_time()
    try:
        answer = function(path)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        answer = f"{type(error).__name__}: {str(error)[:300]}"
    return Cost(answer, _peak_bytes() - before, time.process_time() - begun)


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
