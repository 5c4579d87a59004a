"""Streamlit's secrets: only the operator may read the secret that signs the identity cookie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streamlit import config

from offsetwise.errors import ConfigError
from offsetwise.regular_files import opening


def check() -> None:
    """Refuse files of secrets that others may read or write.

    Raises:
        ConfigError: Others may read or write a file; its content is not shown.
    """
    for file in _files():
        problem = opening(file, shared_folder=True)
        if problem is not None:
            raise ConfigError(
                f"Streamlit's secrets, {file}: expected a file that its owner alone may read and write (mode 0600), "
                f"found {problem.problem}. Whoever reads its cookie_secret can be anybody here. The console does not "
                "start.",
                fix=f"{problem.fix} If others may have read it, put another cookie_secret into it, and have the "
                "provider give another client_secret.",
            )


def _files() -> Iterator[Path]:
    for named in map(Path, config.get_option("secrets.files")):
        yield from (path for path in named.rglob("*") if path.is_file()) if named.is_dir() else ()
        yield from (named,) if named.is_file() else ()
