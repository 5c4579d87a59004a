"""Convert exceptions of database drivers to our own errors, with the cause and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from offsetwise.errors import (
    NotAStoreError,
    StoreError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreRefusedError,
    StoreUnreachableError,
)
from offsetwise.store.address import Address

_RULE: Final = re.compile(r"offsetwise: ([^\n]+)")
"""The beginning of messages from the tables' own triggers."""
_LOCKED = {"55P03", "57014"}
"""lock_not_available; query_canceled, by our own statement timeout."""


@contextmanager
def troubles(address: Address, what: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise _explained(address, what, error) from error.orig
    except PoolTimeout as error:
        raise StoreLockedError(
            f"Store {address.shown}: all connections to it are in use. {what} was not possible.",
            fix="Try again in a moment.",
        ) from error
    except SQLAlchemyError as error:
        raise StoreError(
            f"Store {address.shown}: {what} failed ({type(error).__name__}).", fix="Check the store, then try again."
        ) from error


def _explained(address: Address, what: str, error: DBAPIError) -> StoreError:
    rule = _RULE.search(str(error.orig))
    if rule is not None:
        return StoreRefusedError(
            f"Store {address.shown}: its own rules forbid this: {rule[1]}. {what} was not possible.",
            fix="The rules hold for everybody (docs/threat-model.md). Let somebody who did not write or edit the plan "
            "decide about its newest version, once that is submitted.",
        )
    if address.url.get_backend_name() == "sqlite":
        return sqlite_trouble(address, what, str(error.orig))
    return _postgresql(address, what, error)


def sqlite_trouble(address: Address, what: str, said: str) -> StoreError:
    name = f"Store {address.shown}"
    if "locked" in said:
        return StoreLockedError(
            f"{name}: another process holds it. {what} was not possible.",
            fix="Let the other process finish, or end it; then try again.",
        )
    if "readonly" in said or "read-only" in said:
        return StoreReadOnlyError(
            f"{name}: it can be read, but not written. {what} was not possible.",
            fix="Make the file and its folder writable, or name another store.",
        )
    if "not a database" in said or "malformed" in said:
        return NotAStoreError(
            f"{name}: expected a SQLite database, found something else or a damaged one. {what} was not possible.",
            fix="Name another file; if it was the store, move it away and start a new one.",
        )
    if "unable to open" in said:
        return StoreUnreachableError(
            f"{name}: the file cannot be opened. {what} was not possible.",
            fix="Check that its folder exists, and that you may write there.",
        )
    if "full" in said:
        return StoreError(f"{name}: the disk is full. {what} was not possible.", fix="Make room, then try again.")
    return StoreError(f"{name}: {what} failed: {said}.", fix="Check the file, then try again.")


def _postgresql(address: Address, what: str, error: DBAPIError) -> StoreError:
    name = f"Store {address.shown}"
    state = getattr(error.orig, "sqlstate", None)
    said = _said(address, error)
    if state in _LOCKED:
        return StoreLockedError(
            f"{name}: a lock was not given in time. {what} was not possible.",
            fix="Let the other process finish, or end it; then try again.",
        )
    if state == "25006":
        return StoreReadOnlyError(
            f"{name}: the server takes no writes, as a standby does. {what} was not possible.",
            fix="Name the primary server, or make the database writable.",
        )
    if state == "42501":
        return StoreReadOnlyError(
            f"{name}: the user may not do that: {said}. {what} was not possible.",
            fix="Grant the user CREATE on the schema, and SELECT, INSERT, UPDATE, DELETE on its tables.",
        )
    if state in {"53100", "53200"}:
        return StoreError(
            f"{name}: the server is out of room: {said}. {what} was not possible.",
            fix="Make room on the server, then try again.",
        )
    if state is None or error.connection_invalidated or state[:2] in {"08", "28", "3D", "53", "57"}:
        return StoreUnreachableError(
            f"{name}: the server gives no answer that can be used: {said}. {what} was not possible.",
            fix="Check that the server runs, and host, port, user, password and database of the URL.",
        )
    return StoreError(f"{name}: {what} failed: {said}.", fix="Check the server's log, then try again.")


def _said(address: Address, error: DBAPIError) -> str:
    """Return the first line of the driver's message, with the password masked in case it is repeated."""
    text = str(error.orig).strip() or type(error.orig).__name__
    password = str(address.url.password or "")
    line = text.splitlines()[0].rstrip(".")
    return line.replace(password, "…") if password else line
