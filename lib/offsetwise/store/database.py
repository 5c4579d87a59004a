"""The connection to the store, whose tables are migrated to the newest revision when it is opened."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError

from offsetwise.errors import (
    NotAStoreError,
    StoreError,
    StoreUnclearError,
    StoreUnreachableError,
    StoreVersionError,
)
from offsetwise.regular_files import opening
from offsetwise.store.address import Address
from offsetwise.store.review_tables import metadata
from offsetwise.store.troubles import sqlite_trouble, troubles

VERSION_TABLE: Final = "offsetwise_revision"
_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_WRITES: Final = "offsetwise_writes"
_DURABLE: Final = "offsetwise_durable"
_ADVISORY_LOCK: Final = 0x0FF5E7
"""The key of the lock while tables are created or changed, so that only one process does it."""
_TURN_LOCK: Final = 0x0FF5E8
"""The key of the lock while plans are changed: one change after the other, as in the chain of the audit log."""
_STATEMENT_S: Final = 30


class Database:
    """An opened and migrated database. Thread-safe.

    Args:
        address: The address.
        wait_s: How long to wait for another process's lock, and for the server, in seconds.

    Raises:
        StoreError: It cannot be opened, is not a store, or was changed by a later release.
    """

    def __init__(self, address: Address, *, wait_s: float) -> None:
        self.address: Final = address
        self._wait_s: Final = wait_s
        self._sqlite: Final = address.url.get_backend_name() == "sqlite"
        if address.file is not None:
            _make_file(address.file, address)
        self._engine: Final = _engine(address, wait_s)
        try:
            with troubles(address, "Opening it"):
                self._bring_up_to_date()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self, what: str) -> Iterator[Connection]:
        """Yield a connection with one snapshot of the database.

        Raises:
            StoreError: `what` is not possible.
        """
        level: dict[str, Any] = {} if self._sqlite else {"isolation_level": "REPEATABLE READ"}
        with troubles(self.address, what), self._engine.connect() as raw_connection:
            connection = raw_connection.execution_options(**level)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, what: str) -> Iterator[Connection]:
        """Yield a connection in a transaction.

        Raises:
            StoreError: `what` is not possible.
        """
        with troubles(self.address, what), self._engine.connect() as raw_connection:
            connection = raw_connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def durable_writing(self, what: str, done: Callable[[Connection], bool]) -> Iterator[Connection]:
        """Yield a connection in an exclusive transaction, whose changes are on disk when this ends.

        The transaction sees all earlier changes. If the reply to the commit is lost, the lock is taken again, which the
        server grants only when the lost transaction has ended, and `done` checks whether it was committed.

        Args:
            what: The operation, for errors.
            done: Whether the changes were committed. Called only after a lost reply.

        Raises:
            StoreUnclearError: The reply was lost, and the server could not be asked.
            StoreError: `what` is not possible, and nothing was changed.
        """
        lost: DBAPIError | None = None
        with troubles(self.address, what), self._engine.connect() as raw_connection:
            connection = raw_connection.execution_options(**{_WRITES: True, _DURABLE: True})
            with connection.begin() as transaction:
                self._take_turn(connection)
                yield connection
                try:
                    transaction.commit()
                except DBAPIError as error:
                    lost = error
        if lost is not None and not self._took_place(what, lost, done):
            with troubles(self.address, what):
                raise lost

    def _take_turn(self, connection: Connection) -> None:
        if not self._sqlite:  # in SQLite, BEGIN IMMEDIATE took the lock
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _TURN_LOCK})

    def _took_place(self, what: str, lost: DBAPIError, done: Callable[[Connection], bool]) -> bool:
        try:
            with self.writing(what) as connection:
                self._take_turn(connection)
                return done(connection)
        except StoreError as error:
            raise StoreUnclearError(
                f"Store {self.address.shown}: expected an answer whether this was done: {what}. The connection was "
                "lost at its end and could not be made again, so it may be there or not.",
                fix="When the store answers again, look at the plan before doing anything else.",
            ) from (lost if error.__cause__ is None else error)

    def close(self) -> None:
        self._engine.dispose()

    def _bring_up_to_date(self) -> None:
        script = ScriptDirectory(str(_MIGRATIONS))
        newest = script.get_current_head()
        with self._engine.connect() as connection, connection.begin():
            if self._revision(connection, script) == newest:
                return
        if self._sqlite:
            self._write_ahead()
        with self._engine.connect() as raw_connection:
            connection = raw_connection.execution_options(**{_WRITES: True})
            with connection.begin():
                if not self._sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
                # Read again: another process may have migrated while this one waited for the lock.
                if self._revision(connection, script) != newest:
                    config = Config(attributes={"connection": connection, "version_table": VERSION_TABLE})
                    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
                    command.upgrade(config, "head")

    def _revision(self, connection: Connection, script: ScriptDirectory) -> str | None:
        """Return the revision of the tables; None for an empty database."""
        there = set(inspect(connection).get_table_names())
        if VERSION_TABLE not in there:
            # A file belongs to the store alone; a database may hold other tables, but not ours without their revision.
            strange = sorted(there if self._sqlite else there & set(metadata.tables))
            if strange:
                raise NotAStoreError(
                    f"Store {self.address.shown}: expected a store of Offsetwise or an empty database, found the table "
                    f"{strange[0]!r} of something else. Nothing was changed.",
                    fix="Name another file or database.",
                )
            return None
        actual = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - our own name
        known = [revision.revision for revision in script.walk_revisions()]
        if actual is not None and actual not in known:
            raise StoreVersionError(
                f"Store {self.address.shown}: this release knows revisions up to {known[0]!r}, found {actual!r}, which "
                "a later release made. Nothing was changed.",
                fix="Use that release of Offsetwise, or name another store.",
            )
        return None if actual is None else str(actual)

    def _write_ahead(self) -> None:
        """Switch to write-ahead logging, so that readers and a writer work in parallel. The setting is persistent.

        SQLite does not wait for another process here, so this method does.
        """
        end = time.monotonic() + self._wait_s
        while True:
            try:
                with self._engine.connect() as connection:
                    raw: Any = connection.connection.dbapi_connection
                    raw.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise sqlite_trouble(self.address, "Opening it", str(error)) from error
                time.sleep(0.02)


def _engine(address: Address, wait_s: float) -> Engine:
    if address.url.get_backend_name() != "sqlite":
        options = f"-c lock_timeout={int(wait_s * 1000)} -c statement_timeout={_STATEMENT_S * 1000}"
        connect = {
            "connect_timeout": max(2, int(wait_s)),  # values below 2 are taken as 2
            "options": options,
            "application_name": "offsetwise",
        }
        return create_engine(address.url, connect_args=connect, pool_pre_ping=True, pool_size=4, max_overflow=4)
    engine = create_engine(address.url, connect_args={"timeout": wait_s}, pool_size=4, max_overflow=4)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not implicitly by the driver
        connection.execute("PRAGMA page_size=16384")
        connection.execute("PRAGMA foreign_keys=ON")
        # Without it, INSERT OR REPLACE removes a row without firing triggers.
        connection.execute("PRAGMA recursive_triggers=ON")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        options = connection.get_execution_options()
        # NORMAL keeps the file intact after a power cut, but may lose the last commit. A decision must not be lost.
        connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get(_DURABLE) else 'NORMAL'}")
        # A transaction that begins by reading and then writes cannot wait for another writer: it fails at once.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITES) else "BEGIN")

    return engine


def _make_file(path: Path, address: Address) -> None:
    """Create the file, readable by its owner only; SQLite gives its other files the same mode.

    Whoever can write in the folder can put a write-ahead log there, which SQLite trusts. So a folder that others can
    write in is rejected, sticky bit or not.
    """
    try:
        if not path.exists() and not address.url.query:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        problem = opening(path, shared_folder=False) if path.is_file() else None
    except OSError as error:
        raise StoreUnreachableError(
            f"Store {address.shown}: expected to make this file, but {error.strerror or error}. Nothing was opened.",
            fix="Make the folder writable, or name another store.",
        ) from error
    if problem is not None:
        raise StoreError(
            f"Store {address.shown}: expected a file that its owner alone may read and write (mode 0600), in a folder "
            f"where nobody else may write, found {problem.problem}. Decisions could be forged in it. Nothing was "
            "opened.",
            fix=f"{problem.fix} If others may have written to it, look at its audit log first, or begin a new store.",
        )
