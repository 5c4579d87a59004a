"""Pages over a board with people around it: `Stage` has the board, and opens pages as any of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.console import answers, board
from offsetwise.console.bundles import reader
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.review.access import Access
from offsetwise.review.people import Person
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store
from tests.console.conftest import APP
from tests.console.test_shell import SECRETS
from tests.review import people
from tests.review.people import Scene, access_with_key


def now() -> datetime:
    """The time, as the console's own clock says it."""
    return datetime.now(UTC)


def at_work(somebody: Person) -> Person:
    """Somebody who signed in a minute ago by the clock."""
    return replace(somebody, signed_in_at=now() - timedelta(minutes=1), expires_at=now() + timedelta(hours=1))


ADA = at_work(people.ADA)
BOTH = at_work(people.BOTH)
RITA = at_work(people.RITA)
VERA = at_work(people.VERA)
STRANGER = at_work(people.person("stranger", issuer="https://nobody.example.com"))


def claims(somebody: Person | None) -> dict[str, Any]:
    """What the identity provider says of somebody."""
    if somebody is None:
        return {"is_logged_in": False}
    return {
        "is_logged_in": True,
        "iss": somebody.issuer,
        "sub": somebody.subject,
        "name": somebody.name,
        "email": somebody.email,
        "iat": time.time() - 60,
        "exp": time.time() + 3_600,
    }


def sent(page: AppTest) -> bytes:
    """Return everything that a page sends to the browser."""
    protos = (getattr(node, "proto", None) for node in page._tree)
    return b"\n".join(proto.SerializeToString() for proto in protos if proto is not None)


@dataclass
class Stage:
    """A board on a store, and its pages."""

    scene: Scene
    reviews: Callable[[], Reviews]
    reader: Reader | None = None
    """What pages read; None for the bundled samples and bundles."""

    def open(self, page: str, somebody: Person | None, **parameters: str) -> AppTest:
        """Open a page as somebody."""
        access.use(self.scene.access)
        board.use(self.reviews)
        answers.use(self.reader or reader(()))
        made = AppTest.from_file(str(APP), default_timeout=60)
        made.user = claims(somebody)
        made.secrets = SECRETS
        made.switch_page(page)
        for name, value in parameters.items():
            made.query_params[name] = value
        return made.run()


def stage(reviews: Reviews, folder: Path) -> Stage:
    """Make one, on an empty store."""
    return Stage(Scene(reviews, access_with_key(folder), now=now()), lambda: reviews)


@contextmanager
def staged(url: str, folder: Path, *, wait_s: float = 60) -> Iterator[Stage]:
    """Make one on a store of its own, and leave nothing behind in this process."""
    st.cache_resource.clear()
    with open_store(url, wait_s=wait_s) as store:
        yield stage(store.reviews, folder)
    access.use(Access())
    st.cache_resource.clear()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    """One on SQLite."""
    with staged(f"sqlite:///{tmp_path / 'store.sqlite'}", tmp_path) as made:
        yield made
