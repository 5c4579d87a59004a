"""A store that is locked, read-only or gone: said so, and no harm done."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest

from offsetwise.errors import StoreError, StoreLockedError, StoreReadOnlyError, StoreUnreachableError
from offsetwise.store.store import open_store
from tests.lag_samples import sample
from tests.store.postgres import PASSWORD_VARIABLE, Server
from tests.store.test_store import ORDERS


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(PASSWORD_VARIABLE, server.password)
    return server.new_database()


def test_a_file_that_another_process_writes_to_is_locked_for_writers_and_not_for_readers(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", wait_s=0.2) as store:
        store.add(sample())
        holder = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        try:
            with pytest.raises(StoreLockedError, match="Writing a sample was not possible"):
                store.add(sample(seconds=30))
            assert store.newest(ORDERS) is not None
        finally:
            holder.execute("ROLLBACK")
            holder.close()
        store.add(sample(seconds=30))


def test_a_writer_waits_for_another_that_takes_a_moment(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        holder = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, holder.execute, ["COMMIT"])
        release.start()

        store.add(sample())
        release.join()
        holder.close()

        assert store.newest_ms(ORDERS) is not None


def test_a_table_that_another_session_holds_is_locked(server: Server, database: str) -> None:
    with open_store(database, wait_s=0.3) as store, server.connect(database.rpartition("/")[2]) as holder:
        store.add(sample())
        holder.autocommit = False
        holder.execute("LOCK TABLE lag_sample IN ACCESS EXCLUSIVE MODE")

        with pytest.raises(StoreLockedError):
            store.add(sample(seconds=30))
        with pytest.raises(StoreLockedError):
            store.newest(ORDERS)

        holder.rollback()
        store.add(sample(seconds=30))


def test_a_database_that_takes_no_writes_is_read(server: Server, database: str) -> None:
    with open_store(database) as store:
        store.add(sample())
    server.make_read_only(database.rpartition("/")[2])

    with open_store(database) as store:
        assert store.newest(ORDERS) is not None
        with pytest.raises(StoreReadOnlyError, match="takes no writes"):
            store.add(sample(seconds=30))


def test_a_database_that_was_never_made_is_named(database: str) -> None:
    with pytest.raises(StoreUnreachableError, match="no_such_database"):
        open_store(database.rpartition("/")[0] + "/no_such_database")


def test_a_server_that_stops_in_the_middle_fails_what_is_asked_and_nothing_more(server: Server, database: str) -> None:
    with open_store(database, wait_s=2) as store:
        store.add(sample())
        server.stop()
        try:
            started = time.monotonic()
            with pytest.raises(StoreUnreachableError):
                store.add(sample(seconds=30))
            with pytest.raises(StoreUnreachableError):
                store.newest(ORDERS)
            with pytest.raises(StoreError):
                open_store(database, wait_s=2)
            assert time.monotonic() - started < 10
        finally:
            server.start()

        store.add(sample(seconds=60))
        assert [each.head.taken_at_ms for each in store.window(ORDERS, 0, most=10)] == [
            sample().taken_at_ms,
            sample(seconds=60).taken_at_ms,
        ]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnreachableError, match="expected to make this file"):
        open_store(f"sqlite:///{tmp_path / 'file' / 'store.sqlite'}")


def test_a_folder_in_the_files_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachableError):
        open_store(f"sqlite:///{tmp_path}")


def test_a_file_that_was_damaged_later_is_said(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store:
        store.add(sample())
    content = bytearray(path.read_bytes())
    content[100:] = bytes(len(content) - 100)
    path.write_bytes(content)

    with pytest.raises(StoreError):
        open_store(f"sqlite:///{path}")
