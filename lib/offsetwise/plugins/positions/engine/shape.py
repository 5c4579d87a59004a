"""The definition of a positions file's shape, and parsers of the values in it.

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from offsetwise.digits import whole_number
from offsetwise.position import HIGHEST_OFFSET

MAX_PARTITION: Final = 2**31 - 1
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_GROUP: Final = re.compile(r"[^/\\\x00-\x1f\x7f]{1,255}")
_SHOWN: Final = 60


class Row(NamedTuple):
    group: str
    """The consumer group of the offset; empty if the shape names none."""
    topic: str
    partition: int
    offset: int
    """The next record to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    """Value of `--shape`."""
    title: str
    """What writes it, for a sentence."""
    fits: Callable[[bytes], bool]
    """Whether a file looks like it, by its first bytes."""
    rows: Callable[[bytes, str], Iterable[Row]]
    """Parses the positions; the second argument is the WORD of `SHAPE:WORD`, empty if none is given. A `ValueError`
    says what was expected and found."""
    take: str
    """How to write such a file again, as the next step of an error."""
    text: Callable[[Sequence[Row]], str] | None = None
    """Formats positions, sorted, in the same shape; None if the system accepts none."""
    use: Callable[[str, Sequence[str]], str] | None = None
    """The command by which the system accepts a file of that name, for these groups; None if it accepts none."""


def number(text: str, what: str, most: int = HIGHEST_OFFSET, *of: object) -> int:
    """Parse a whole number in its canonical spelling.

    >>> number("1050", "an offset")
    1050

    Args:
        text: The number.
        what: Description for the error message, with a placeholder for each of `of`.
        most: The maximum.
        of: Values of the placeholders. A file may have a million numbers, so the description is only formatted for an
            error.

    Raises:
        ValueError: It is negative, too large, or not a whole number.
    """
    value = whole_number(text, most)
    if value is not None:
        return value
    named = what.format(*of) if of else what
    raise ValueError(f"expected {named}, a whole number from 0 to {most}, found {text[:_SHOWN]!r}")


def whole(value: object, what: str, most: int = HIGHEST_OFFSET) -> int:
    """Return a number in JSON, which may be a string.

    Raises:
        ValueError: As `number`.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
        return value
    return number(value if isinstance(value, str) else repr(value), what, most)


def topic_name(value: object) -> str:
    """Return the name of a topic.

    Raises:
        ValueError: Kafka does not allow it.
    """
    if isinstance(value, str) and _TOPIC.fullmatch(value) and value not in (".", ".."):
        return value
    raise ValueError(f"expected the name of a topic, found {str(value)[:_SHOWN]!r}")


def group_name(value: str) -> str:
    """Return the name of a group that a plan can name as a source.

    Raises:
        ValueError: It is empty, too long, or has a slash or a control character.
    """
    if _GROUP.fullmatch(value):
        return value
    raise ValueError(
        f"expected the name of a group of up to 255 characters without slashes, found {value[:_SHOWN]!r}: export that "
        "group alone, so that no line names it"
    )


def members(value: object, keys: Sequence[str], what: str) -> list[Any]:
    """Return the values of an object that has exactly these keys.

    Raises:
        ValueError: It has others, or is not an object.
    """
    if not isinstance(value, dict) or value.keys() != set(keys):
        shown = ", ".join(map(str, value)) if isinstance(value, dict) else repr(value)
        raise ValueError(f"expected {what} with {' and '.join(keys)}, found {shown[:_SHOWN] or 'an empty one'}")
    return [value[key] for key in keys]


def offsets_of(value: object, topic: str, what: str) -> Iterator[Row]:
    """Yield the positions of an object of offsets by partition.

    Raises:
        ValueError: It is not such an object.
    """
    if not isinstance(value, dict):
        raise ValueError(f"expected {what}, an object of offsets by partition, found {repr(value)[:_SHOWN]}")
    for partition, offset in value.items():
        at = number(partition, f"a partition of {topic}", MAX_PARTITION)
        yield Row("", topic, at, whole(offset, f"the offset of {topic}-{partition}"))


def grouped(rows: Iterable[Row]) -> dict[str, dict[int, int]]:
    topics: dict[str, dict[int, int]] = {}
    for row in rows:
        topics.setdefault(row.topic, {})[row.partition] = row.offset
    return topics


def one_topic(rows: Sequence[Row], shape: str) -> str:
    """Return the topic of all rows.

    Raises:
        ValueError: There are several, and such a file names only one.
    """
    topics = sorted({row.topic for row in rows})
    if len(topics) != 1:
        raise ValueError(f"a file of {shape} names one topic, and the positions are of {', '.join(topics[:5])}")
    return topics[0]
