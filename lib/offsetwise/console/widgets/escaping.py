"""Names as the console prints them.

They come from checkpoints and clusters and may be hostile: each output (Markdown, chart label, table cell) has its own
function here, and nothing else on screen prints a name.
"""

from __future__ import annotations

import html
import re
from typing import Final

import regex

from offsetwise.lookalikes import bracketed, marked
from offsetwise.model import AnyPosition
from offsetwise.wording import brief

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'@/])")
_ADDRESS: Final = re.compile(r"(?=://)|(?=@)|(?<=ww)(?=w)", re.IGNORECASE)
"""Where an address is broken up. GitHub's Markdown links text that reads `http://`, `https://`, `www` or `a@b`, after
it has removed the escapes."""
BREAK: Final = ":color[]"
"""Streamlit's directive without a colour and without text: an element between two pieces of text that is invisible and
not part of a copy."""
_CODE: Final = re.compile(r"(?<!`)`([^`\[\]|\\\s](?:[^`\[\]|\\\n]*[^`\[\]|\\\s])?)`(?!`)")
_TURNING: Final = regex.compile(r"[\p{Bidi_Class=Right_To_Left}\p{Bidi_Class=Arabic_Letter}]")
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def plain(name: str) -> str:
    r"""Mark hidden characters in a name, as `lookalikes.marked` does, and characters that change the text direction.

    >>> plain("or\u202eders"), plain("orders"), plain("p\u0430yments")
    ('or⟨U+202E⟩ders', 'orders', 'pа⟨Cyrillic⟩yments')
    """
    shown: str = _TURNING.sub(lambda match: bracketed(match[0]), marked(name))
    return shown


CELL: Final = 160
"""Characters of a text in a table cell; the whole text is below the table."""


def cut(text: str, most: int = CELL) -> str:
    """Shorten a text to at most `most` characters, with an ellipsis.

    >>> cut("orders", 6), cut("payments", 6)
    ('orders', 'payme…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def markdown(name: str) -> str:
    r"""Escape a name for Markdown and Streamlit's directives. No address in it becomes a link.

    >>> markdown("a|b*c_d[e](f)")
    'a\\|b\\*c\\_d\\[e\\]\\(f\\)'
    >>> markdown("www.example")
    'ww:color[]w\\.example'
    """
    return BREAK.join(_MARKDOWN.sub(r"\\\1", part) for part in _ADDRESS.split(plain(name)))


def sentence(text: str) -> str:
    r"""Escape a sentence that may contain names, except for its code spans.

    Only text between two single backticks is code, and only if it cannot end a link, a cell or a line.

    >>> sentence("Look with `offsetwise transactions` at a*b.")
    'Look with `offsetwise transactions` at a\\*b\\.'
    >>> sentence("a`[b](c)")
    'a\\`\\[b\\]\\(c\\)'
    """
    parts = _CODE.split(text)
    return "".join(f"`{plain(part)}`" if index % 2 else markdown(part) for index, part in enumerate(parts))


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


def new_in_bold(old: AnyPosition | None, new: AnyPosition | None) -> str:
    """Return a new position as Markdown, bold from the first digit that differs from the old one.

    >>> new_in_bold(1_050, 950), new_in_bold(1_030, 1_035), new_in_bold(350, 350), new_in_bold(None, 7)
    ('**950**', '1,03**5**', '350', '**7**')
    """
    printed, before = brief(new), brief(old)
    if not isinstance(new, int) or not isinstance(old, int):
        return printed if new == old else f"**{markdown(printed)}**"
    if len(printed) != len(before):
        return f"**{printed}**"
    same = next(
        (at for at, (character, other) in enumerate(zip(printed, before, strict=True)) if character != other),
        len(printed),
    )
    return printed if same == len(printed) else f"{printed[:same]}**{printed[same:]}**"
