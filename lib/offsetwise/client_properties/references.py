from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Final

from offsetwise import regular_files
from offsetwise.client_properties.user_settings import SECRETS, allows_file, allows_variable
from offsetwise.errors import ConfigError, SecretError

_ENVIRONMENT: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_SECRET_BYTES: Final = 1024 * 1024
_LENT: Final[ContextVar[Mapping[str, str]]] = ContextVar("lent", default=MappingProxyType({}))


@contextmanager
def lent(variables: Mapping[str, str]) -> Iterator[None]:
    """Provide values of environment variables to references inside the block.

    Only this thread sees them, and no process that it starts.
    """
    before = _LENT.set(variables)
    try:
        yield
    finally:
        _LENT.reset(before)


def lent_now() -> Mapping[str, str]:
    return _LENT.get()


def is_reference(value: str) -> bool:
    return bool(_ENVIRONMENT.fullmatch(value)) or value.startswith("file:")


def only_reference(key: str, value: str) -> str:
    """Return a secret's reference unchanged.

    Raises:
        ConfigError: It is a plain secret, which is not shown.
    """
    if is_reference(value):
        return value
    raise ConfigError(
        f"{key}: expected a reference to a secret, found it written out, so everybody who reads the "
        "migration file reads the secret.",
        fix="Write ${NAME} for an environment variable, or file:PATH for a file that holds only the secret. "
        "Change the secret if the file was shared.",
    )


def follow(key: str, value: str, folder: str | None = None) -> str:
    """Resolve a reference; return any other value unchanged.

    Args:
        key: The key of the value, for messages.
        value: The value in the file.
        folder: The folder of that file; None if it comes from no file.

    Raises:
        SecretError: The variable is not set, the file cannot be read or is empty, or the user does not let files of
            others use it.
    """
    variable = _ENVIRONMENT.fullmatch(value)
    if variable:
        lent = _LENT.get().get(variable[1])
        if not lent and not allows_variable(variable[1]):
            raise SecretError(
                f"{key}: expected a variable that {SECRETS} lists, found {variable[1]}, so whoever wrote "
                "this file would have it sent. Nothing was contacted.",
                fix=f"If the value is meant for this cluster, add {variable[1]} to {SECRETS}.",
            )
        result = lent or os.environ.get(variable[1], "")
        if not result:
            raise SecretError(
                f"{key}: expected the environment variable {variable[1]}, found it "
                f"{'empty' if variable[1] in os.environ else 'not set'}. Nothing was contacted.",
                fix=f"Set {variable[1]} in the environment that starts Offsetwise.",
            )
        return result
    if value.startswith("file:"):
        return _read_secret(value.removeprefix("file:").removeprefix("//"), key, folder)
    return value


def _read_secret(path: str, key: str, folder: str | None) -> str:
    real = os.path.realpath(path)
    if not allows_file(real, folder):
        near = "" if folder is None else f", or one in {folder} that is not hidden"
        led = "" if real == path else f", which leads to {real}"
        raise SecretError(
            f"{key}: expected a file below a folder that {SECRETS} lists{near}, found {path}{led}, so "
            "whoever wrote this file would have it sent. Nothing was contacted.",
            fix=f"If the file is meant for this cluster, add its folder, {os.path.dirname(real)}, to "
            f"{SECRETS} in the environment that starts Offsetwise.",
        )
    # Opened without following links: it is the file that was checked.
    return _text_of(lambda: regular_files.Folders().open_file(real), path, key)


def read_text(path: Path, key: str) -> str:
    """Read a certificate or its key, without a trailing line end.

    Raises:
        SecretError: It cannot be read, is empty or too large. Its content is never shown.
    """
    return _text_of(lambda: regular_files.open_named(path), str(path), key)


def _text_of(opened: Callable[[], int], path: str, key: str) -> str:
    try:
        content = regular_files.read(opened(), _MAX_SECRET_BYTES)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SecretError(
            f"{key}: expected a readable file at {path}, but {why}. Nothing was contacted.",
            fix="Correct the path, or make the file readable for the user who runs Offsetwise.",
        ) from None  # the decoding error has the bytes of the secret
    if not text.strip() or len(content) > _MAX_SECRET_BYTES:
        raise SecretError(
            f"{key}: expected a text of at most {_MAX_SECRET_BYTES} bytes in {path}, "
            f"found {'nothing' if not text.strip() else 'more'}.",
            fix="Write the value into the file.",
        )
    return text.removesuffix("\n").removesuffix("\r")
