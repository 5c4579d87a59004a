"""The colours of the console: one set per theme, the same meaning everywhere.

Old is blue, new is orange. Marks have a contrast of 3:1 on the page, text 4.5:1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.wording.verdicts import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The colours of one theme, as `#rrggbb`."""

    old: str
    new: str
    next_record: str
    raw: str
    bound: str
    text: str
    muted: str
    grid: str
    page: str
    right: str
    wrong: str
    careful: str
    unknown: str
    before: str
    """Heat map: the raw number is before the right position (records read twice)."""
    middle: str
    after: str
    """Heat map: the raw number is after the right position (records never read)."""
    blank: str
    """Heat map: unknown."""

    def tone(self, tone: Tone) -> str:
        return {
            Tone.RIGHT: self.right,
            Tone.WRONG: self.wrong,
            Tone.CAREFUL: self.careful,
            Tone.UNKNOWN: self.unknown,
        }[tone]


LIGHT: Final = Palette(
    old="#0072B2",
    new="#D55E00",
    next_record="#009E73",
    raw="#B3261E",
    bound="#A86F00",
    text="#262730",
    muted="#5C6068",
    grid="#ECECEA",
    page="#FFFFFF",
    right="#00714F",
    wrong="#B3261E",
    careful="#7D5200",
    unknown="#5C6068",
    before="#332288",
    middle="#F4F4F1",
    after="#B3261E",
    blank="#B9B9B4",
)
DARK: Final = Palette(
    old="#56B4E9",
    new="#E69F00",
    next_record="#2BCB9A",
    raw="#FF8A80",
    bound="#F0E442",
    text="#EDEBE8",
    muted="#BBBBBB",
    grid="#33322E",
    page="#171614",
    right="#2BCB9A",
    wrong="#FF8A80",
    careful="#F0E442",
    unknown="#BBBBBB",
    before="#7FB8FF",
    middle="#2A2926",
    after="#FF8A80",
    blank="#6E6D68",
)


def current() -> Palette:
    return DARK if st.context.theme.type == "dark" else LIGHT
