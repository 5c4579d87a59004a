"""What processes take of the processors, from Linux' `/proc`: figures that can be read on a busy machine."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_s(top: int) -> float:
    """Return the CPU seconds of a process and everything below it."""
    parents, used = dict[int, int](), dict[int, float]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(values[1]), sum(map(int, values[11:15])) / os.sysconf("SC_CLK_TCK")
    return sum(used[pid] for pid in used if _is_below(pid, top, parents))


def _is_below(pid: int, top: int, parents: dict[int, int]) -> bool:
    while pid != top and pid in parents:
        pid = parents[pid]
    return pid == top
