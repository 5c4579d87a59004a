"""Strict parsing of keys, envelopes and statements: small JSON, of exactly one version, without unknown keys.

Plans may have a later minor version; these files may not. A later version could add a condition, and ignoring a
condition would approve more than was signed.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from offsetwise import files
from offsetwise.errors import NotApprovedError
from offsetwise.lookalikes import invisible

MAX_BYTES: Final = 64 * 1024
MAX_NAME: Final = 200
MAX_REASON: Final = 500
A_NAME: Final = f"a name of 1 to {MAX_NAME} printable characters that can all be seen, without blanks around it"
A_REASON: Final = f"one line of 1 to {MAX_REASON} printable characters that can all be seen, without blanks around it"
COUNTS_NOTHING: Final = "It counts for nothing."


def is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and is_reason(text)


def is_reason(text: str) -> bool:
    return 1 <= len(text) <= MAX_REASON and text.isprintable() and text == text.strip() and not invisible(text)


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"expected {A_NAME}")
    return text


def _reason(text: str) -> str:
    if not is_reason(text):
        raise ValueError(f"expected {A_REASON}")
    return text


Name = Annotated[str, AfterValidator(_name)]
Reason = Annotated[str, AfterValidator(_reason)]
Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""32 bytes, in lower case: a key, its id, a SHA-256."""


class Shape(BaseModel):
    """The required form of a file or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


_S = TypeVar("_S", bound=Shape)


def read(content: bytes, shape: type[_S], *, what: str, fix: str, effect: str = COUNTS_NOTHING) -> _S:
    """Parse a file, or a signed payload.

    Args:
        content: All of it.
        shape: The required form.
        what: Its kind and name: the beginning of the message.
        fix: The remedy if it cannot be parsed.
        effect: The consequence if it cannot be parsed.

    Raises:
        NotApprovedError: It does not have the form of `shape`.
    """
    why = _too_large(content)
    if why is None:
        try:
            return shape.model_validate(files.parse_object(content.decode("utf-8"), most=MAX_BYTES))
        except UnicodeDecodeError as error:
            why = f"found other bytes than UTF-8 at position {error.start}"
        except ValidationError as error:
            why = first_wrong(error)
        except ValueError as error:
            why = f"expected one of Offsetwise's JSON files, but {error}"
    raise NotApprovedError(f"{what} cannot be read: {why}. {effect}", fix=fix)


def first_wrong(error: ValidationError) -> str:
    """Return the first value that does not have its form, with its path."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"]) or "the top level"
    return f"{path} is wrong: {first['msg'][:200]}"


def _too_large(content: bytes) -> str | None:
    return f"it has more than {MAX_BYTES} bytes" if len(content) > MAX_BYTES else None
