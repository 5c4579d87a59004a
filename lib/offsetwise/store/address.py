"""The address of the store: a file in a private folder by default, or a URL. Passwords only by reference."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from offsetwise.errors import ConfigError, SecretError

STORE_VARIABLE: Final = "OFFSETWISE_STORE"
"""The environment variable with the store's URL, if no option gives one."""

STATE_VARIABLE: Final = "OFFSETWISE_STATE"
"""The environment variable with Offsetwise's state folder."""

_FILE: Final = "store.sqlite"
_POSTGRESQL: Final = "postgresql+psycopg"
_SECRET_QUERY: Final = re.compile(r"pass|secret|key", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Address:
    url: URL
    """With the password, which SQLAlchemy masks whenever it prints one."""
    shown: str
    """Without any password."""

    @property
    def file(self) -> Path | None:
        """The file of a SQLite store; None for others."""
        if self.url.get_backend_name() != "sqlite":
            return None
        return Path((self.url.database or "").removeprefix("file:"))


def address(url: str | None = None) -> Address:
    """Return the address of the store: the given URL, or else the environment's, or else a file in the state folder.

    Raises:
        ConfigError: The URL cannot be used, or contains a password.
        SecretError: The password refers to a variable that is not set.
    """
    message = url or os.environ.get(STORE_VARIABLE)
    if not message:
        return _sqlite(state_folder() / _FILE)
    try:
        parsed = make_url(message)
    except (ArgumentError, ValueError):
        raise _unusable("one that cannot be parsed") from None  # the error repeats the URL, password included
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        if not parsed.database or ":memory:" in parsed.database or parsed.query.get("mode") == "memory":
            raise _unusable("one that names no file, so that nothing would be kept")
        if parsed.query:
            return Address(parsed, f"sqlite:///{parsed.database}")
        return _sqlite(Path(parsed.database))
    if parsed.drivername in (_POSTGRESQL, "postgresql"):
        return _postgresql(parsed.set(drivername=_POSTGRESQL))
    raise _unusable(f"one for {parsed.drivername!r}")


def state_folder() -> Path:
    """Return Offsetwise's state folder: `$OFFSETWISE_STATE`, or else by the XDG Base Directory Specification."""
    message = os.environ.get(STATE_VARIABLE)
    if message:
        return Path(message)
    base = os.environ.get("XDG_STATE_HOME", "")
    # The specification: a path that is not absolute must be ignored.
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return root / "offsetwise"


def _sqlite(path: Path) -> Address:
    whole = path.absolute()
    return Address(URL.create("sqlite+pysqlite", database=str(whole)), f"sqlite:///{whole}")


def _postgresql(url: URL) -> Address:
    secret = [name for name in url.query if _SECRET_QUERY.search(name) and name != "sslkey"]
    if secret:
        raise _unusable(f"one with {secret[0]!r} in its query")
    shown = url.set(password=None).render_as_string()
    password = url.password
    if password is None:
        return Address(url, shown)
    reference = _REFERENCE.fullmatch(str(password))
    if reference is None:
        raise ConfigError(
            "The store's URL: expected a reference to a password, found it written out, so everybody who sees the "
            "command or the environment sees the password. Nothing was opened.",
            fix="Write ${NAME} for an environment variable in the password's place, and change the password.",
        )
    value = os.environ.get(reference[1])
    if not value:
        raise SecretError(
            f"The store's URL: its password refers to the variable {reference[1]}, which is not set. Nothing was "
            "opened.",
            fix=f"Set {reference[1]}.",
        )
    return Address(url.set(password=value), shown)


def _unusable(what: str) -> ConfigError:
    return ConfigError(
        f"The store's URL: expected sqlite:///PATH or {_POSTGRESQL}://USER@HOST/DATABASE, found {what}. "
        "Nothing was opened.",
        fix="Correct --store or $OFFSETWISE_STORE; without either, a file in the state folder is used.",
    )
