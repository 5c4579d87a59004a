"""A folder in memory for the gates, which write and remove the same small files thousands of times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
FREE_BYTES = 32 << 20


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory where the machine has one, else an ordinary one.

    The gates leave syncs out and count calls, so the kind of file system changes nothing but the time.
    """
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK) or _free_bytes(MEMORY) < FREE_BYTES:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="offsetwise-gate-", dir=MEMORY) as folder:
        yield Path(folder)


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
