from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

DOCUMENT: Final = "document"
"""The section of the single values at the top of a document."""
SECTIONS: Final = ("states", "positions", "findings", "summary", "jobs", DOCUMENT)
"""Shown first, in this order; then the others, and `LAST` at the end."""
LAST: Final = ("logs", "evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One value that is another one, or that only one of both documents has."""

    section: str
    """The subject area: `states`, `positions`, `findings`, `summary`, `jobs`, `document` (single values at its top),
    `logs`, `evidence`, or the key at the top of the document."""
    subject: str | None
    """The partition, finding, job, topic or group; None for the document itself."""
    key: str
    """The keys that lead to the value below that, with dots between; empty for a subject as a whole."""
    before: str | None
    """As text; None if the first document does not have it, or has null."""
    after: str | None
    job: str | None = None
    """`checkpoint NAME` or `group NAME`, in folders of several jobs; else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs between two documents of one kind."""

    kind: str
    """Of both, as in their `format`."""
    before: str
    """The name of the first one: its path."""
    after: str
    equal: bool
    changes: tuple[Change, ...]
    """By section, in the order in which sections are shown; empty if both are equal."""

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(change.section for change in self.changes))

    def markdown(self) -> str:
        """Return it as Markdown, for a pull request, with at most 50 changes of a section."""
        from offsetwise.differences.markdown import markdown  # noqa: PLC0415 - it is made of differences

        return markdown(self)

    def sections(self) -> Iterator[tuple[str, tuple[Change, ...]]]:
        """Yield each section with its changes, in the order in which they are shown."""
        for section, changes in groupby(self.changes, key=lambda change: change.section):
            yield section, tuple(changes)


def rank(section: str) -> tuple[int, str]:
    if section in SECTIONS:
        return SECTIONS.index(section), ""
    return len(SECTIONS) + (1 + LAST.index(section) if section in LAST else 0), section
