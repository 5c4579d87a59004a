"""Libraries as tests use them, thousands of times in a process: what they read or build anew at each use is kept.

In the full gates they are as everybody has them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest

from tests.gates import FULL


def use() -> None:
    """Keep what those of them read that the tests have imported."""
    if FULL:
        return
    if (botocore := sys.modules.get("botocore.session")) is not None:
        patched: Any = botocore
        patched.create_loader = cache(patched.create_loader)  # of the descriptions of all of AWS, megabytes of JSON
    if (database := sys.modules.get("offsetwise.store.database")) is not None:
        patched = database
        patched._make_file = _with_tables(patched._make_file)


def _with_tables(make: Callable[..., None]) -> Callable[..., None]:
    """Return what makes the file of a store with its tables: a copy of one that was migrated as every store is."""

    @cache
    def migrated() -> bytes:
        from offsetwise.store.store import open_store  # noqa: PLC0415 - slow to import, and imported by now

        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
            patched.setattr("offsetwise.store.database._make_file", make)
            file = Path(folder) / "store.sqlite"
            open_store(f"sqlite:///{file}").close()
            return file.read_bytes()

    @wraps(make)
    def made(path: Path, address: Any) -> None:
        new = not path.exists() and not address.url.query
        make(path, address)
        if new:
            path.write_bytes(migrated())

    return made
