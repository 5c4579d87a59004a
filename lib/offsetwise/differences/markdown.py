"""A difference as Markdown, for a pull request or a terminal.

Names and sentences come from checkpoints and clusters. Each is in a code span, where Markdown and GitHub interpret
nothing: no link, no image, no mention of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.differences.changes import LAST, Change, Difference
from offsetwise.lookalikes import marked
from offsetwise.wording import many

ROWS: Final = 50
"""The maximum number of rows of a section: a comment in GitHub has 65,536 characters."""
_LONGEST: Final = 400
"""The maximum length of a value, in characters."""
_NUMBER: Final = re.compile(r"-?[0-9]{4,18}")
_NOTHING: Final = "–"
_FINDINGS: Final = "findings"


def markdown(difference: Difference, *, rows: int = ROWS) -> str:
    """Return a difference as Markdown, with a trailing newline.

    Args:
        difference: The difference.
        rows: How many changes of each section are shown; the number of the others is stated.
    """
    title = f"## {_code(difference.kind)}: {_code(difference.before)} → {_code(difference.after)}"
    if difference.equal:
        return f"{title}\n\nNo change.\n"
    counts = ", ".join(f"{section} {count:,}" for section, count in difference.counts.items())
    lines = [title, "", f"{many(len(difference.changes), 'change')}: {counts}.", ""]
    for section, changes in difference.sections():
        lines += _section(section, changes, rows)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: str, changes: Sequence[Change], rows: int) -> Iterator[str]:
    shown, more = changes[:rows], len(changes) - rows
    folded = section in LAST
    name = section.replace("_", " ").capitalize()
    yield from (["<details>", f"<summary>{name}</summary>"] if folded else [f"### {name}"])
    yield ""
    yield from map(_finding, shown) if section == _FINDINGS else _table(shown)
    if more > 0:
        yield from ("", f"{many(more, 'more change')}: `offsetwise diff --json` has all of them.")
    yield ""
    if folded:
        yield from ("</details>", "")


def _table(changes: Sequence[Change]) -> Iterator[str]:
    yield "| of | what | before | after |"
    yield "|---|---|---|---|"
    for change in changes:
        cells = (_subject(change), _words(change.key), _value(change.before), _value(change.after))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _finding(change: Change) -> str:
    subject, what = _subject(change), _words(change.key)
    if change.before is None:
        return f"- appeared: {subject} {_value(change.after)}"
    if change.after is None:
        return f"- gone: {subject} {_value(change.before)}"
    return f"- changed: {subject} {what}: {_value(change.before)} → {_value(change.after)}"


def _subject(change: Change) -> str:
    names = [name for name in (change.job, change.subject) if name is not None]
    return " ".join(map(_code, names)) or _NOTHING


def _words(key: str) -> str:
    """Return the keys that lead to a value in words; a list element, whose name is external, as code.

    >>> _words("raw.verdict"), _words("restart.[6].old"), _words("")
    ('raw verdict', '`restart [6] old`', '–')
    """
    words = " ".join(key.replace("_", " ").split("."))
    if not words:
        return _NOTHING
    return words if re.fullmatch("[a-z0-9 ]+", words) else _code(words)


def _value(value: str | None) -> str:
    """Return a value as Markdown, numbers with commas.

    >>> _value("1050"), _value("EXACT"), _value(None)
    ('1,050', '`EXACT`', '–')
    """
    if value is None:
        return _NOTHING
    if re.fullmatch("-?[0-9]{1,3}", value):
        return value
    return f"{int(value):,}" if _NUMBER.fullmatch(value) else _code(value)


def _code(text: str) -> str:
    """Return a text as a code span, with a fence that is longer than any in it.

    >>> _code("orders"), _code("a`b"), _code("`")
    ('`orders`', '``a`b``', '`` ` ``')
    """
    shown = marked(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown or ' '}{space}{fence}"
