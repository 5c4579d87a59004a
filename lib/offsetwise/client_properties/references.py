"""References to secrets and texts: environment variables and files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Final

from offsetwise import regular_files
from offsetwise.errors import ConfigError, SecretError

_ENVIRONMENT: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_SECRET_BYTES: Final = 1024 * 1024
_LENT: Final[ContextVar[Mapping[str, str]]] = ContextVar("lent", default=MappingProxyType({}))


@contextmanager
def lent(variables: Mapping[str, str]) -> Iterator[None]:
    """Let references lead to these values inside the block, as if the environment had them.

    Only this thread sees them, and no process that it starts.
    """
    before = _LENT.set(variables)
    try:
        yield
    finally:
        _LENT.reset(before)


def is_reference(value: str) -> bool:
    """Whether a value refers to an environment variable or a file."""
    return bool(_ENVIRONMENT.fullmatch(value)) or value.startswith("file:")


def only_reference(key: str, value: str) -> str:
    """Give a secret's reference as it is.

    Raises:
        ConfigError: The secret is written out. It is not shown.
    """
    if is_reference(value):
        return value
    raise ConfigError(
        f"{key}: expected a reference to a secret, found it written out, so everybody who reads the "
        "migration file reads the secret.",
        fix="Write ${NAME} for an environment variable, or file:PATH for a file that holds only the secret. "
        "Change the secret if the file was shared.",
    )


def follow(key: str, value: str) -> str:
    """Give what a reference leads to, and any other value as it is.

    Raises:
        SecretError: The variable is not set, or the file cannot be read or is empty.
    """
    variable = _ENVIRONMENT.fullmatch(value)
    if variable:
        found = _LENT.get().get(variable[1]) or os.environ.get(variable[1], "")
        if not found:
            raise SecretError(
                f"{key}: expected the environment variable {variable[1]}, found it "
                f"{'empty' if variable[1] in os.environ else 'not set'}. Nothing was contacted.",
                fix=f"Set {variable[1]} in the environment that starts Offsetwise.",
            )
        return found
    if value.startswith("file:"):
        return read_text(Path(value.removeprefix("file:").removeprefix("//")), key)
    return value


def read_text(path: Path, key: str) -> str:
    """Read a secret or a certificate, without the line end that editors add.

    Raises:
        SecretError: It cannot be read, is empty or too large. Its content is never shown.
    """
    try:
        content = regular_files.read_named(path, _MAX_SECRET_BYTES)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SecretError(
            f"{key}: expected a readable file at {path}, but {why}. Nothing was contacted.",
            fix="Correct the path, or make the file readable for the user who runs Offsetwise.",
        ) from None  # the decoding error carries the bytes of the secret
    if not text.strip() or len(content) > _MAX_SECRET_BYTES:
        raise SecretError(
            f"{key}: expected a text of at most {_MAX_SECRET_BYTES} bytes in {path}, "
            f"found {'nothing' if not text.strip() else 'more'}.",
            fix="Write the value into the file.",
        )
    return text.removesuffix("\n").removesuffix("\r")
