"""Parse JSON without ambiguity, and with a cost that is known before parsing.

One pass over the bytes counts values and depth; only then is the text parsed. Python takes up to 200 bytes for a value
of two characters, and four bytes for each character of a text in which one character is beyond U+FFFF.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any, Final

from offsetwise.garbage import collected_seldom

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 1_500_000
"""Twice as many as in a comparison of 10,000 partitions with all its evidence."""
MAX_TEXT_BYTES: Final = 96 * 1024 * 1024
"""The maximum of the text in Python's memory: one, two or four bytes for each character, as the widest one needs."""
HALF: Final = re.compile("[\ud800-\udfff]")
"""An unpaired surrogate; UTF-8 has none."""
HALF_ESCAPED: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""The same as a JSON escape."""
_CHUNK_BYTES: Final = 1024 * 1024
_BUT_MARKS: Final = bytes(set(range(256)) - set(b'"[]{},'))
_BUT_BRACKETS: Final = b'",'
_STEPS: Final = tuple({ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}.get(byte, 0) for byte in range(256))
_NARROW: Final = bytes(range(0xC4))
"""The bytes of UTF-8 whose characters are below U+0100, including continuation bytes."""
_NOT_WIDEST: Final = bytes(range(0xF0))
_INT64: Final = range(-(2**63), 2**63)
_INT64_DIGITS: Final = 20


def parse(data: bytes, *, fractions: bool = False) -> Any:
    """Parse one JSON value.

    Args:
        data: UTF-8, without a byte order mark.
        fractions: Whether numbers may be floats, as in answers of services.

    Raises:
        ValueError: Another encoding, too many values, too deep, duplicate keys, floats, integers outside int64 or not
            in canonical form, or not JSON. The message says which.
    """
    text = _text(data)
    check_size(data)
    with collected_seldom():
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=float if fractions else _no_float,
            parse_constant=_no_float,
            parse_int=_int64,
        )


def check_size(data: bytes, *, most: int = MAX_VALUES) -> int:
    """Count values and depth of possible JSON, without parsing it.

    Args:
        data: All of it, in an encoding that is a superset of ASCII.
        most: The maximum number of values.

    Returns:
        The number of values.

    Raises:
        ValueError: There are more values, or more levels than `MAX_DEPTH`.
    """
    # Escapes occur only in strings, so without them every remaining quote begins or ends a string. If a backslash is
    # outside a string, the parser stops there, and everything before it was counted correctly.
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = data.translate(None, _BUT_MARKS)
    values, depth, in_string = 1, 0, False
    for start in range(0, len(marks), _CHUNK_BYTES):
        pieces = marks[start : start + _CHUNK_BYTES].split(b'"')
        outside = b"".join(pieces[in_string::2])
        in_string ^= len(pieces) % 2 == 0
        values += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        if values > most:
            raise ValueError(f"it has more than {most:,} values")
        steps = map(_STEPS.__getitem__, outside.translate(None, _BUT_BRACKETS))
        levels = list(accumulate(steps, initial=depth))
        if max(levels) > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        depth = levels[-1]
    return values


def _text(data: bytes) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark, expected UTF-8 without one")
    encoding = json.detect_encoding(data)
    if encoding != "utf-8":
        raise ValueError(f"it is {encoding.upper()}, expected UTF-8")
    width = 4 if data.translate(None, _NOT_WIDEST) else 2 if data.translate(None, _NARROW) else 1
    if len(data) * width > MAX_TEXT_BYTES:
        raise ValueError(
            f"it has {len(data):,} bytes and characters that need {width} bytes each; with them, the limit is "
            f"{MAX_TEXT_BYTES // width:,} bytes"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: found other bytes at position {error.start}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    results = dict(pairs)
    if len(results) != len(pairs):
        visited: set[str] = set()
        twice = next(key for key, _ in pairs if key in visited or visited.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:60]!r} appears twice in one object")
    return results


def _no_float(text: str) -> Any:
    raise ValueError(f"found the number {text[:24]}, only integers are used")


def _int64(text: str) -> int:
    if len(text) > _INT64_DIGITS or int(text) not in _INT64:
        raise ValueError(f"the integer {text[:24]} does not fit 64 bits")
    if text == "-0":
        raise ValueError("found the number -0, expected 0")
    return int(text)


def half_of_a_pair(value: Any) -> str | None:
    """Return the first unpaired surrogate in the texts of a value; None if there is none.

    Undecodable bytes of file names (U+DC80 to U+DCFF) are ignored.
    """
    if isinstance(value, str):
        return next((half for half in HALF.findall(value) if not "\udc80" <= half <= "\udcff"), None)
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next(filter(None, map(half_of_a_pair, inner)), None)
