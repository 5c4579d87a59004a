"""Reviews are tested on SQLite and on a real PostgreSQL server, as the store is."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.store.store import Store
from tests.review.people import Scene, access_with_key
from tests.store.conftest import server, store, url

__all__ = ["server", "store", "url"]


@pytest.fixture
def scene(store: Store, tmp_path: Path) -> Scene:
    """A board on an empty store."""
    return Scene(store.reviews, access_with_key(tmp_path))
