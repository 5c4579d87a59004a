"""The result of checking an audit log, in a module without the store's libraries, so that `schema` needs none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What came of reading the whole audit log."""

    intact: bool
    broken: str | None
    """The first thing that is wrong, in a sentence; null where nothing is."""
    row: int
    """The number of the last row that is whole; 0 where there is none."""
    hash: str
    """Its hash: `ROW:HASH` is what to note elsewhere, for `--noted` later."""
    at_ms: int | None
    """When that row was written."""
