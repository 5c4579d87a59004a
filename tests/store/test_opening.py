"""Opening the store: made once, never downgraded, never mistaken for something else."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from offsetwise.errors import (
    ConfigError,
    NotAStoreError,
    SecretError,
    StoreReadOnlyError,
    StoreUnreachableError,
    StoreVersionError,
)
from offsetwise.store.address import address
from offsetwise.store.database import VERSION_TABLE
from offsetwise.store.store import Store, open_store
from tests.lag_samples import growing, sample
from tests.store.postgres import PASSWORD_VARIABLE, Server
from tests.store.test_store import ORDERS
from tests.with_cases import with_cases

OPEN_AND_WRITE = """
import sys
from dataclasses import replace
from offsetwise.store.store import open_store
from tests.lag_samples import sample
with open_store(sys.argv[1], wait_s=60) as store:
    for number in range(10):
        store.add(sample(seconds=number, migration=sys.argv[2]))
"""


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def test_processes_that_open_it_first_at_the_same_time_make_one_store_and_lose_nothing(url: str) -> None:
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN_AND_WRITE, url, f"m{number}"], cwd=root, stderr=subprocess.PIPE)
        for number in range(3)
    ]
    said = [process.communicate(timeout=120)[1].decode() for process in running]

    assert [process.returncode for process in running] == [0] * 3, said
    with open_store(url) as store:
        assert [each.migration for each in store.subjects()] == ["m0", "m1", "m2"]
        assert all(len(store.window(each, 0, most=100)) == 10 for each in store.subjects())


def test_threads_share_one_store(store: Store) -> None:
    taken = growing(60)
    with ThreadPoolExecutor(6) as threads:
        ids = list(threads.map(store.add, taken))

    assert len(set(ids)) == 60
    assert [each.sample for each in store.history(ORDERS, [("0", "orders", 0)], 0, most=100)] == list(taken)


def test_opening_again_finds_what_was_written(url: str) -> None:
    with open_store(url) as store:
        store.add(sample())
    with open_store(url) as store:
        assert store.newest_ms(ORDERS) is not None


def test_a_store_that_a_later_release_changed_is_refused_naming_both_revisions(
    url: str, request: pytest.FixtureRequest
) -> None:
    open_store(url).close()
    _run_sql(request, url, f"UPDATE {VERSION_TABLE} SET version_num = 'r9999'")

    with pytest.raises(StoreVersionError, match=r"'r0004'.*'r9999'"):
        open_store(url)


def test_tables_of_something_else_are_refused_and_left_alone(url: str, request: pytest.FixtureRequest) -> None:
    _run_sql(request, url, "CREATE TABLE lag_sample (mine text)")

    with pytest.raises(NotAStoreError, match="lag_sample"):
        open_store(url)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch(0o600)
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be read as one" * 40)

    with pytest.raises(NotAStoreError):
        open_store(f"sqlite:///{tmp_path / 'notes.txt'}")
    assert (tmp_path / "notes.txt").read_text().startswith("not a database")


def test_a_store_that_can_only_be_read_is_read(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        store.add(sample())

    with open_store(f"sqlite:///file:{tmp_path / 'store.sqlite'}?mode=ro&uri=true") as store:
        assert store.newest(ORDERS) is not None
        with pytest.raises(StoreReadOnlyError, match="Writing a sample"):
            store.add(sample(seconds=30))


def test_an_empty_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").touch(0o600)
    sqlite3.connect(tmp_path / "store.sqlite").execute("PRAGMA user_version=1").connection.close()

    with pytest.raises(StoreReadOnlyError):
        open_store(f"sqlite:///file:{tmp_path / 'store.sqlite'}?mode=ro&uri=true")


def test_the_file_is_its_owners_alone_and_so_is_what_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store:
        store.add(sample())
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}

    assert modes == dict.fromkeys(("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"), 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_a_url_the_store_is_in_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OFFSETWISE_STORE", "OFFSETWISE_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert address().file == tmp_path / ".local" / "state" / "offsetwise" / "store.sqlite"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert address().file == tmp_path / ".local" / "state" / "offsetwise" / "store.sqlite"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert address().file == tmp_path / "xdg" / "offsetwise" / "store.sqlite"
    monkeypatch.setenv("OFFSETWISE_STATE", str(tmp_path / "state"))
    assert address().file == tmp_path / "state" / "store.sqlite"
    monkeypatch.setenv("OFFSETWISE_STORE", f"sqlite:///{tmp_path / 'named.sqlite'}")
    assert address().file == tmp_path / "named.sqlite"


@with_cases(
    "told",
    [
        "postgresql://me:canary-secret@127.0.0.1/db",
        "postgresql://me@127.0.0.1/db?password=canary-secret",
        "postgresql://me@127.0.0.1:no/canary-secret",
        "mysql://me:canary-secret@host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "canary-secret",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_a_secret(told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        address(told)
    assert "canary-secret" not in str(refused.value)
    assert "Nothing was opened" in refused.value.problem


def test_a_password_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(SecretError, match="NOT_THERE"):
        address("postgresql://me:${NOT_THERE}@127.0.0.1/db")


def test_a_password_is_never_printed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "canary-secret")
    url = server.new_database()

    with pytest.raises(StoreUnreachableError) as refused:
        open_store(url)

    cause: BaseException | None = refused.value
    while cause is not None:
        assert "canary-secret" not in f"{cause}{cause!r}"
        cause = cause.__cause__
    assert "canary-secret" not in repr(address(url))


def _run_sql(request: pytest.FixtureRequest, url: str, statement: str) -> None:
    if url.startswith("sqlite"):
        file_of(url).touch(0o600)
        with sqlite3.connect(file_of(url)) as connection:
            connection.execute(statement)
        connection.close()
    else:
        request.getfixturevalue("server").run_sql(statement, database=url.rpartition("/")[2])
