from __future__ import annotations

from dataclasses import dataclass

from offsetwise import wording


@dataclass(frozen=True, slots=True)
class Time:
    """A time in a cell: on screen as in the sentences of the page, in files as ISO 8601."""

    at_ms: int | None

    def __str__(self) -> str:
        return wording.moment(self.at_ms)

    @property
    def shown(self) -> str:
        return wording.clock(self.at_ms, milliseconds=True).removesuffix(" UTC")
