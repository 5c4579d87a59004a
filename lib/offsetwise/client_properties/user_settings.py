"""The user's limits for migration files, which somebody else may have written.

They are in variables of the environment, which no migration file can set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

SECRETS: Final = "OFFSETWISE_SECRETS"
"""Folders or files of secrets, and names of variables (`*` for any part), separated as in PATH."""
SPARK_CONF: Final = "OFFSETWISE_SPARK_CONF"
"""A file of Spark's properties, with any name."""
SPARK_SERVERS: Final = "OFFSETWISE_SPARK_SERVERS"
"""Masters and Spark Connect servers, separated by blanks."""


def allows_variable(name: str) -> bool:
    """Return whether a reference may use an environment variable; all are allowed if the user lists none."""
    patterns = [*_listed(path=False)]
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def allows_file(real_path: str, folder: str | None) -> bool:
    """Return whether a reference may use a file.

    Args:
        real_path: Absolute, without links.
        folder: The folder of the file with the reference, absolute; None if it comes from no file. Everything below it
            is allowed except hidden files, such as the keys in a home folder; nothing if it is the root folder.
    """
    if any(real_path == path or _below(path, real_path) for path in map(os.path.realpath, _listed(path=True))):
        return True
    top = None if folder is None else os.path.realpath(folder)
    if top is None or top == "/" or not _below(top, real_path):
        return False
    return not any(part.startswith(".") for part in os.path.relpath(real_path, top).split("/"))


def allows_server(address: str) -> bool:
    """Return whether a Spark master or a Spark Connect server may read records. Either can run code here."""
    return address in map(server_name, os.environ.get(SPARK_SERVERS, "").split())


def server_name(address: str) -> str:
    """Return a master unchanged, and only host and port of a Connect address.

    >>> server_name("sc://spark.example/;token=a"), server_name("yarn")
    ('sc://spark.example:15002', 'yarn')
    """
    if not address.startswith("sc://"):
        return address
    host = re.split("[/;]", address.removeprefix("sc://"))[0].lower()
    return f"sc://{host}" if host.rpartition("]")[2].count(":") else f"sc://{host}:15002"


def _listed(*, path: bool) -> Iterator[str]:
    for entry in os.environ.get(SECRETS, "").split(os.pathsep):
        if entry and ("/" in entry) is path:
            yield os.path.expanduser(entry)


def _below(folder: str, path: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")
