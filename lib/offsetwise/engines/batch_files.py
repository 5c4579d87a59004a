"""The raw files of one batch, with their parsed content."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

MAX_RAW_BYTES: Final = 16 * 1024 * 1024
"""A larger file is not read for display: an offset file takes some twenty bytes per partition."""
SHOWN_BYTES: Final = 24 * 1024

_Parsed = TypeVar("_Parsed")
_PLAIN: Final = re.compile(rb"[\x20-\x7e\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile(Generic[_Parsed]):
    path: str
    data: bytes | None
    """None if it cannot be read."""
    problem: str | None = None
    """Why it cannot be read, or why the engine cannot have written its bytes."""
    parsed: _Parsed | None = None

    @property
    def sha256(self) -> str | None:
        return None if self.data is None else hashlib.sha256(self.data).hexdigest()

    @property
    def cut(self) -> bool:
        """Whether `text` is only its beginning."""
        return self.data is not None and len(self.data) > SHOWN_BYTES

    @property
    def text(self) -> str:
        return "" if self.data is None else visible(self.data[:SHOWN_BYTES])


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFiles:
    """The two files of a batch: the plan with its end, and the commit."""

    batch: int
    offsets: RawFile[Any]
    """Parsed for the engine's part of the Checkpoint screen."""
    commit: RawFile[int]
    """Parsed: the version of its log."""


def visible(data: bytes) -> str:
    r"""Decode bytes so that nothing in them is hidden or affects the display.

    Line feeds are kept. Invalid UTF-8, control characters, and characters that are invisible or change the direction of
    text are escaped.

    >>> visible(b"v1\n\x00a\xff")
    'v1\n⟨00⟩a⟨FF⟩'
    """
    if _PLAIN.fullmatch(data):
        return data.decode("ascii")
    text = data.decode("utf-8", errors="surrogateescape")
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    code = ord(char)
    if char in (" ", "\n"):
        return char
    if 0xDC80 <= code <= 0xDCFF:
        return f"⟨{code - 0xDC00:02X}⟩"
    if unicodedata.category(char).startswith(("C", "Z")) or unicodedata.bidirectional(char) in ("R", "AL"):
        return f"⟨{code:02X}⟩" if code < 0x80 else f"⟨U+{code:04X}⟩"
    return char
