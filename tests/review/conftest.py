"""Who may do what is tested on SQLite; what writers at the same time may do to each other on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from offsetwise.store.store import open_store
from tests.review.people import Scene, access_with_key
from tests.store.conftest import server, url

__all__ = ["server", "url"]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A board on an empty SQLite store."""
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", wait_s=60) as store:
        yield Scene(store.reviews, access_with_key(tmp_path))


@pytest.fixture
def anywhere(url: str, tmp_path: Path) -> Iterator[Scene]:
    """A board on an empty store, of either kind."""
    with open_store(url, wait_s=60) as store:
        yield Scene(store.reviews, access_with_key(tmp_path))
