from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from offsetwise.lookalikes import code_points, invisible

_SCHEME: Final = re.compile(r"(?!file:[^/])[A-Za-z][A-Za-z0-9+.-]*:")
"""The scheme of a URI. `file:` without a following slash names a relative path."""


def _text_of_scalar(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def is_uri(location: str) -> bool:
    return bool(_SCHEME.match(location))


def _absolute(value: str, info: ValidationInfo) -> str:
    return value if is_uri(value) else beside_the_file(value.removeprefix("file:"), info)


def folder_of(info: ValidationInfo) -> str | None:
    """Return the folder of the file that is parsed; None without a file."""
    base = (info.context or {}).get("base")
    return None if base is None else str(base)


def beside_the_file(path: str, info: ValidationInfo) -> str:
    base = folder_of(info)
    return path if base is None else os.path.normpath(Path(base, path))


def located_reference(value: str, info: ValidationInfo) -> str:
    if not value.startswith("file:"):
        return value
    return f"file:{beside_the_file(value.removeprefix('file:').removeprefix('//'), info)}"


def _require_visible(value: str) -> str:
    if unseen := invisible(value):
        raise PydanticCustomError(
            "invisible",
            "expected a name whose characters can all be seen, found {found} in it",
            {"found": code_points(unseen)},
        )
    return value


def repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


Label = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Visible: Final = AfterValidator(_require_visible)
PersonName = Annotated[Label, Visible]
"""An issuer or a subject."""
TopicName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
Location = Annotated[str, Field(min_length=1), AfterValidator(_absolute)]
"""A path or URI; absolute after parsing."""
Scalar = Annotated[str, BeforeValidator(_text_of_scalar), WithJsonSchema({"type": ["string", "integer", "boolean"]})]
