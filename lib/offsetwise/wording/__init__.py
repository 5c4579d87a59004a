from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from offsetwise.model import MAX_TIME_MS, AnyPosition
from offsetwise.position import OpaquePosition

_DIGITS: Final = re.compile("[0-9]{14,}")
"""Numbers that are shortened if there is little room; a time in milliseconds is not."""
_SIZES: Final = ("KiB", "MiB", "GiB", "TiB", "PiB")


def number(value: AnyPosition | None) -> str:
    """Format an integer with thousands separators, or another position as its text; `?` if unknown.

    >>> number(9007199254740993), number(None), number(-100)
    ('9,007,199,254,740,993', '?', '-100')
    """
    return "?" if value is None else f"{value:,}"


def brief(value: AnyPosition | None) -> str:
    """Format a position for little room: shorten long numbers, and show only the first of several shards.

    >>> brief(1_050), brief(None)
    ('1,050', '?')
    """
    parts = value.of if isinstance(value, OpaquePosition) else ()
    if parts:
        number_, position = parts[0]
        first = f"{number_} at {brief(position)}"
        return f"shard {first}" if len(parts) == 1 else f"{len(parts):,} shards, {first}"
    return number(value) if isinstance(value, int | None) else _DIGITS.sub(_ends, str(value))


def _ends(match: re.Match[str]) -> str:
    return f"{match[0][:4]}…{match[0][-4:]}"


def signed(value: int | None) -> str:
    """Format a difference with its sign; `?` if unknown.

    >>> signed(50), signed(0), signed(-100)
    ('+50', '0', '-100')
    """
    return "?" if value is None else "0" if value == 0 else f"{value:+,}"


def first_of(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """Join the first names, with the number of the others.

    >>> first_of(["a", "b", "c"], 2), first_of(["a", "b"], 2), first_of(["a", "b"], 1, between="; ")
    ('a, b and 1 more', 'a, b', 'a and 1 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def changing(changed: int, same: int) -> str:
    """Return how many things change and how many stay, without those that are zero.

    >>> changing(5, 3), changing(1, 1), changing(0, 2), changing(0, 0)
    ('5 change, 3 stay', '1 changes, 1 stays', '2 stay', '')
    """
    results = ((changed, "changes", "change"), (same, "stays", "stay"))
    return ", ".join(many(count, singular, several) for count, singular, several in results if count)


def many(count: int | None, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun; a text if the number is unknown.

    >>> many(1, "partition"), many(2_000, "partition"), many(None, "record")
    ('1 partition', '2,000 partitions', 'an unknown number of records')
    """
    if count is None:
        return f"an unknown number of {plural or noun + 's'}"
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def part(count: int, total: int, noun: str) -> str:
    """Return how many of all are shown.

    >>> part(3, 2_000, "partition"), part(8, 8, "partition")
    ('3 of 2,000 partitions', '8 partitions')
    """
    return many(total, noun) if count == total else f"{count:,} of {many(total, noun)}"


def sentence(clauses: Sequence[str]) -> str:
    """Join clauses into one sentence.

    >>> sentence(["the old log has none", "the new one has two"])
    'The old log has none; the new one has two.'
    """
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:] + "."


def at_most(count: int) -> str:
    """Format an upper bound; 0 needs no sign.

    >>> at_most(0), at_most(1_200)
    ('0', '≤ 1,200')
    """
    return number(count) if count == 0 else f"≤ {number(count)}"


def lag(value: int | None) -> str:
    """Format a signed lag: how many records are left, or how far the position is past the end.

    >>> lag(150), lag(-100), lag(None)
    ('150', '100 past the end', '?')
    """
    return f"{-value:,} past the end" if value is not None and value < 0 else number(value)


def size(count: int | None) -> str:
    """Format a number of bytes with binary units; `?` if unknown.

    >>> size(0), size(3_370), size(5_000_000_000), size(None)
    ('0 B', '3.3 KiB', '4.7 GiB', '?')
    """
    if count is None:
        return "?"
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, len(_SIZES))
    return f"{count / 1024**power:,.1f} {_SIZES[power - 1]}"


def duration(milliseconds: int | None) -> str:
    """Format a duration in its two largest units; `?` if unknown.

    >>> duration(3_501), duration(-200), duration(90_000), duration(7_380_000), duration(None)
    ('3.5 s', '-0.2 s', '1 min 30 s', '2 h 3 min', '?')
    >>> duration(9 * 86_400_000), duration(40), duration(27_900_000_000)
    ('9 d', '0 s', '322 d 22 h')
    """
    if milliseconds is None:
        return "?"
    tenths = abs(milliseconds) // 100
    sign = "-" if milliseconds < 0 and tenths else ""
    if tenths < 600:
        return f"{sign}{tenths / 10:.1f} s" if tenths % 10 else f"{sign}{tenths // 10} s"
    rest, parts = tenths // 10, []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count:,} {unit}")
    return sign + " ".join(parts[:2])


def moment(timestamp_ms: int | None) -> str:
    """Format a record's time in UTC, ISO 8601 with milliseconds; `?` if there is no usable one.

    >>> moment(1_700_000_000_123), moment(-1)
    ('2023-11-14T22:13:20.123Z', '?')
    """
    if timestamp_ms is None or timestamp_ms < 0:
        return "?"
    try:
        read = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return "?"
    return f"{read:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"


def clock(time: int | datetime | None, *, milliseconds: bool = False) -> str:
    """Format a time, or epoch milliseconds, for a sentence on a page; `?` if there is no usable one.

    >>> clock(1_700_000_000_123), clock(1_700_000_000_123, milliseconds=True), clock(-1)
    ('2023-11-14 22:13:20 UTC', '2023-11-14 22:13:20.123 UTC', '?')
    >>> clock(datetime(2026, 1, 2, 14, 2, 11, tzinfo=UTC))
    '2026-01-02 14:02:11 UTC'
    """
    exact = moment(int(time.timestamp() * 1000) if isinstance(time, datetime) else time)
    if exact == "?":
        return exact
    return f"{exact.replace('T', ' ')[: -1 if milliseconds else -5]} UTC"


def utc(timestamp_ms: int) -> str:
    """Format a time in ISO 8601, UTC, to the second; in milliseconds if it is outside the calendar.

    >>> utc(0), utc(2**62)
    ('1970-01-01T00:00:00Z', '4611686018427387904 ms')
    """
    if not 0 <= timestamp_ms <= MAX_TIME_MS:
        return f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_at(taken_at: str, now: datetime) -> str:
    """Return when something was read and how long ago.

    >>> read_at("2026-01-02T14:02:11Z", datetime(2026, 1, 2, 14, 2, 19, tzinfo=UTC))
    'read 2026-01-02 14:02:11 UTC, 8 s ago'
    """
    try:
        then = datetime.fromisoformat(taken_at)
    except ValueError:
        return f"read {taken_at}"
    then = then.replace(tzinfo=UTC) if then.tzinfo is None else then.astimezone(UTC)
    return f"read {clock(then)}, {duration(max(0, int((now - then).total_seconds()) * 1000))} ago"
