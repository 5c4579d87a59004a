"""Numbers, names and times as the console prints them.

Names come from checkpoints and clusters and may be hostile: each output (Markdown, chart label, table cell)
has a function of its own here, and nothing else on screen prints a name.
"""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from typing import Final

import regex

from offsetwise.lookalikes import bracketed, marked

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'@/])")
_ADDRESS: Final = re.compile(r"(?=://)|(?=@)|(?<=ww)(?=w)", re.IGNORECASE)
"""Where an address breaks. GitHub's Markdown makes links of what reads `http://`, `https://`, `www` or `a@b` in its
text, after it took the escapes away."""
BREAK: Final = ":color[]"
"""Streamlit's directive without a colour and without text: an element between two pieces of text, which nobody sees and
no copy holds."""
_TURNING: Final = regex.compile(r"[\p{Bidi_Class=Right_To_Left}\p{Bidi_Class=Arabic_Letter}]")
_SIZES: Final = ("KiB", "MiB", "GiB", "TiB", "PiB")
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def number(value: int | None) -> str:
    """Print an integer with thousands separators; an unknown one as `?`.

    >>> number(9007199254740993), number(None), number(-100)
    ('9,007,199,254,740,993', '?', '-100')
    """
    return "?" if value is None else f"{value:,}"


def signed(value: int | None) -> str:
    """Print a difference with its sign; an unknown one as `?`.

    >>> signed(50), signed(0), signed(-100)
    ('+50', '0', '-100')
    """
    return "?" if value is None else "0" if value == 0 else f"{value:+,}"


def many(count: int, noun: str, plural: str | None = None) -> str:
    """Count a noun.

    >>> many(1, "partition"), many(2_000, "partition")
    ('1 partition', '2,000 partitions')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def at_most(count: int) -> str:
    """Print a bound; nothing is below none.

    >>> at_most(0), at_most(1_200)
    ('0', '≤ 1,200')
    """
    return number(count) if count == 0 else f"≤ {number(count)}"


def lag(value: int | None) -> str:
    """Print a signed lag: how many records are left, or how far past the end the position lies.

    >>> lag(150), lag(-100), lag(None)
    ('150', '100 past the end', '?')
    """
    return f"{-value:,} past the end" if value is not None and value < 0 else number(value)


def plain(name: str) -> str:
    r"""Mark what hides in a name, as `lookalikes.marked` does, and letters that turn the text around them.

    >>> plain("or\u202eders"), plain("orders"), plain("p\u0430yments")
    ('or⟨U+202E⟩ders', 'orders', 'pа⟨Cyrillic⟩yments')
    """
    shown: str = _TURNING.sub(lambda found: bracketed(found[0]), marked(name))
    return shown


def markdown(name: str) -> str:
    r"""Escape a name for Markdown and Streamlit's directives. No address in it becomes a link.

    >>> markdown("a|b*c_d[e](f)")
    'a\\|b\\*c\\_d\\[e\\]\\(f\\)'
    >>> markdown("www.example")
    'ww:color[]w\\.example'
    """
    return BREAK.join(_MARKDOWN.sub(r"\\\1", part) for part in _ADDRESS.split(plain(name)))


def label(name: str) -> str:
    """Escape a name for a chart, which understands a few HTML tags.

    >>> label("<b>&")
    '&lt;b&gt;&amp;'
    """
    return html.escape(plain(name), quote=False)


def cell(name: str) -> str:
    """Neutralise a name for table cells and CSV: a spreadsheet must not run it.

    >>> cell("=cmd()"), cell("orders")
    ("'=cmd()", 'orders')
    """
    shown = plain(name)
    return f"'{shown}" if name.startswith(_FORMULA_STARTS) else shown


def moment(timestamp_ms: int | None) -> str:
    """Print a record's time in UTC, ISO 8601 with milliseconds; `?` where there is none usable.

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


def read_at(taken_at: str, now: datetime) -> str:
    """Say when something was read and how long ago.

    >>> read_at("2026-01-02T14:02:11Z", datetime(2026, 1, 2, 14, 2, 19, tzinfo=UTC))
    'read 2026-01-02 14:02:11 UTC, 8 s ago'
    """
    try:
        then = datetime.fromisoformat(taken_at)
    except ValueError:
        return f"read {taken_at}"
    then = then.replace(tzinfo=UTC) if then.tzinfo is None else then.astimezone(UTC)
    return f"read {then:%Y-%m-%d %H:%M:%S} UTC, {span(max(0, int((now - then).total_seconds() * 1000)))} ago"


def span(milliseconds: int) -> str:
    """Print roughly how long something lasts, or is ago.

    >>> span(1_500), span(400_000), span(90_000_000), span(8_640_000_000)
    ('1 s', '6 min', '25 h', '100 days')
    """
    seconds = milliseconds // 1000
    for limit, size_s, unit in ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{seconds // size_s} {unit}"
    return f"{seconds // 86_400:,} days"


def size(count: int | None) -> str:
    """Print a number of bytes with binary units; an unknown one as `?`.

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
    """Print a time between two moments, with its sign.

    >>> duration(3_501), duration(-200), duration(7_380_000), duration(None)
    ('3.5 s', '-0.2 s', '2 h 3 min', '?')
    >>> duration(27_900_000_000)
    '322 d 22 h'
    """
    if milliseconds is None:
        return "?"
    sign, rest = ("-" if milliseconds < 0 else ""), abs(milliseconds)
    if rest < 120_000:
        return f"{sign}{rest / 1000:,.1f} s"
    minutes = rest // 60_000
    hours = minutes // 60
    if hours >= 48:
        return f"{sign}{hours // 24:,} d {hours % 24} h"
    return f"{sign}{minutes} min" if minutes < 120 else f"{sign}{hours:,} h {minutes % 60} min"
