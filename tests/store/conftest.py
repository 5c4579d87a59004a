"""Every promise of the store is tested on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import unwrap
from pathlib import Path

import pytest

from offsetwise.store import database
from offsetwise.store.store import Store, open_store
from tests.store.postgres import PASSWORD_VARIABLE, Server


@pytest.fixture(autouse=True)
def _migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every store migrated here, where that is tested: see `tests/quick_libraries.py`."""
    monkeypatch.setattr(database, "_make_file", unwrap(database._make_file))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where an empty store can be made."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.sqlite'}"
    running: Server = request.getfixturevalue("server")
    monkeypatch.setenv(PASSWORD_VARIABLE, running.password)
    return running.new_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened
