"""The store goes down in the middle of a change: what is said is what is there."""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import text

from offsetwise.errors import StoreError, StoreLockedError, StoreUnclearError
from offsetwise.store.store import Store, open_store
from tests.store.postgres import PASSWORD_VARIABLE, Server
from tests.store.test_reviews import drafted, record

KILLED = """
import os, signal, sys
from offsetwise.store.store import open_store
from tests.store.test_reviews import record
with open_store(sys.argv[1], wait_s=60) as store, store.reviews.changing("Breaking") as change:
    change.add_plan(migration="m", moves="orders", at_ms=1)
    change.record(record())
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Wire:
    """Stands between a client and PostgreSQL. Cuts the line at a COMMIT, before it arrives or before it is answered."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.cut: str | None = None
        """`before` or `after`; the next COMMIT only."""
        self.closed = False
        """Whether nobody is let through any more."""
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            if self.closed:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._server))
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(OSError):
            while True:
                ready, _, _ = select.select([client, server], [], [])
                from_ = ready[0]
                data = from_.recv(65536)
                if not data:
                    return
                if from_ is client and self.cut is not None and b"COMMIT" in data:
                    how, self.cut = self.cut, None
                    if how == "after":
                        server.sendall(data)
                        server.recv(65536)  # it is done, and nobody hears of it
                    return
                (server if from_ is client else client).sendall(data)


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    made = Wire(server.port)
    yield made
    made.close()


@pytest.fixture
def wired(server: Server, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, Store]]:
    """A store behind the wire, and the same one beside it."""
    monkeypatch.setenv(PASSWORD_VARIABLE, server.password)
    url = server.new_database()
    beside = open_store(url, wait_s=60)
    behind = open_store(url.replace(f":{server.port}/", f":{wire.port}/"), wait_s=60)
    with closing(beside), closing(behind):
        yield behind, beside


def count(store: Store) -> int:
    with store.reviews.reading("Counting") as look:
        return look.check_chain().rows


def test_a_commit_that_arrived_and_whose_reply_was_lost_is_said_to_be_done(
    wired: tuple[Store, Store], wire: Wire
) -> None:
    behind, beside = wired
    wire.cut = "after"

    plan = drafted(behind.reviews)

    assert wire.cut is None, "the line was cut"
    with beside.reviews.reading("Reading") as look:
        assert look.plan(plan) is not None
    assert count(beside) == 1


def test_a_commit_that_never_arrived_is_said_to_be_not_done(wired: tuple[Store, Store], wire: Wire) -> None:
    behind, beside = wired
    wire.cut = "before"

    with pytest.raises(StoreError) as caught:
        drafted(behind.reviews)

    assert not isinstance(caught.value, StoreUnclearError)
    assert "was not possible" in str(caught.value)
    assert count(beside) == 0
    assert drafted(behind.reviews) is not None, "and it goes on"


def test_a_lost_reply_with_nobody_to_ask_is_said_to_be_unclear(wired: tuple[Store, Store], wire: Wire) -> None:
    behind, _ = wired
    wire.cut, wire.closed = "after", True

    with pytest.raises(StoreUnclearError, match=r"may be there or not.*look at the plan"):
        drafted(behind.reviews)


def test_a_connection_that_is_killed_in_the_middle_leaves_nothing(wired: tuple[Store, Store], server: Server) -> None:
    behind, beside = wired

    def broken() -> None:
        with behind.reviews.changing("Breaking") as change:
            change.add_plan(migration="m", moves="orders", at_ms=1)
            server.run_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'offsetwise' AND state = 'idle in transaction'"
            )
            change.record(record())

    with pytest.raises(StoreError, match="was not possible"):
        broken()

    assert count(beside) == 0
    with beside.reviews.reading("Reading") as look:
        assert look.plans() == ()
    drafted(behind.reviews)


def test_a_process_that_is_killed_in_the_middle_leaves_nothing(url: str) -> None:
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED, url], cwd=root, stderr=subprocess.PIPE, check=False)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with open_store(url) as store:
        assert count(store) == 0
        drafted(store.reviews)


def test_whoever_has_the_turn_sees_all_that_was_changed_before(url: str) -> None:
    with open_store(url, wait_s=0.3) as one, open_store(url, wait_s=0.3) as other:
        with one.reviews.changing("Saving") as change:
            with pytest.raises(StoreLockedError), other.reviews.changing("Saving too"):
                raise AssertionError("two have the turn")
            change.record(record())
        with other.reviews.changing("Saving after") as change:
            assert change.written[0] == 2
            change.record(record())


def test_a_decision_is_on_the_disk_when_it_is_told(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        with store.reviews.changing("Deciding") as change:
            assert change._connection.scalar(text("PRAGMA synchronous")) == 2, "FULL"
            change.record(record())
        with store.reviews.reading("Reading") as look:
            assert look._connection.scalar(text("PRAGMA synchronous")) == 1, "NORMAL"
