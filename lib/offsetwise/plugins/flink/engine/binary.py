"""Java's `DataOutputStream`, read with limits: every length is compared with the remaining bytes before it is used."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Final

_INT: Final = struct.Struct(">i").unpack_from
_LONG: Final = struct.Struct(">q").unpack_from
_SHORT: Final = struct.Struct(">H").unpack_from


class DamagedError(Exception):
    """The bytes do not have the expected format.

    Args:
        at: Offset of the first byte that does not fit, counted from the start of its file.
        what: What was expected and what was found, without a full stop.
    """

    def __init__(self, at: int, what: str) -> None:
        super().__init__(f"byte {at:,}: {what}")
        self.at = at
        self.what = what


class Cursor:
    """A position in some bytes that advances as they are read.

    Args:
        data: The bytes.
        at: Where to begin.
        end: Where to stop; the end of the bytes by default.
        base: Offset of `data[0]` in its file, for error messages.
    """

    __slots__ = ("at", "base", "data", "end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None, *, base: int = 0) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end
        self.base = base

    @property
    def byte_offset(self) -> int:
        return self.base + self.at

    @property
    def remaining(self) -> int:
        return self.end - self.at

    def skip(self, size: int, what: str) -> int:
        """Skip bytes, and return where they begin.

        Raises:
            DamagedError: There are fewer, or the size is negative.
        """
        at = self.at
        if size < 0 or at + size > self.end:
            raise self.damaged(f"expected {what} of {size:,} bytes, found {self.end - at:,} before the end")
        self.at = at + size
        return at

    def take(self, size: int, what: str) -> bytes:
        at = self.skip(size, what)
        return self.data[at : at + size]

    def byte(self, what: str) -> int:
        at = self.at
        if at >= self.end:
            self.skip(1, what)
        self.at = at + 1
        return self.data[at]

    def int32(self, what: str) -> int:
        value: int = _INT(self.data, self.skip(4, what))[0]
        return value

    def int64(self, what: str) -> int:
        value: int = _LONG(self.data, self.skip(8, what))[0]
        return value

    def uint16(self, what: str) -> int:
        value: int = _SHORT(self.data, self.skip(2, what))[0]
        return value

    def flag(self, what: str) -> bool:
        """Read a boolean.

        Raises:
            DamagedError: It is neither 0 nor 1.
        """
        value = self.byte(what)
        if value > 1:
            self.at -= 1
            raise self.damaged(f"expected {what}, 0 or 1, found {value}")
        return value == 1

    def count(self, what: str, *, least: int = 1) -> int:
        """Read how many elements follow.

        Args:
            what: Name of the elements in errors.
            least: Minimum size of an element in bytes.

        Raises:
            DamagedError: It is negative, or the remaining bytes are too few for it.
        """
        at = self.at
        value = self.int32(f"the number of {what}")
        if value < 0 or value * least > self.end - self.at:
            self.at = at
            raise self.damaged(f"expected the number of {what}, found {value:,} with {self.remaining:,} bytes left")
        return value

    def longs(self, count: int, what: str) -> array[int]:
        values = array("q", self.take(8 * count, what))
        if sys.byteorder == "little":
            values.byteswap()
        return values

    def text(self, what: str) -> str:
        """Read Java's modified UTF-8 with its length of two bytes.

        Raises:
            DamagedError: It is not modified UTF-8.
        """
        at = self.at
        begin = at + 2
        # Savepoints are mostly text, so a complete text is read without calls; for any other, `take` reports what is
        # missing.
        if begin <= self.end and (end := begin + (self.data[at] << 8 | self.data[at + 1])) <= self.end:
            self.at = end
            data = self.data[begin:end]
        else:
            data = self.take(self.uint16(f"the length of {what}"), what)
        try:
            return data.decode("ascii") if data.isascii() else _modified_utf8(data)
        except UnicodeError:
            self.at = at
            raise self.damaged(f"expected {what} as text, found bytes that are none") from None

    def skip_text(self, what: str) -> int:
        size = self.uint16(what)
        self.skip(size, what)
        return size

    def finished(self, what: str) -> None:
        """Require that all bytes were read.

        Raises:
            DamagedError: Bytes remain.
        """
        if self.at != self.end:
            raise self.damaged(f"expected the end of {what}, found {self.remaining:,} more bytes")

    def damaged(self, what: str) -> DamagedError:
        return DamagedError(self.byte_offset, what)


def _modified_utf8(data: bytes) -> str:
    """Decode: NUL is two bytes, and a character beyond 16 bits is a pair of surrogates of three bytes each."""
    text = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
