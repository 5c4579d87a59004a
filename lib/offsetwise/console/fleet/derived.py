"""What is derived from a held fleet, computed once per reading: a rerun of the page only looks it up.

Keyed by the id of what is held. Results are shared by all sessions and must not be changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise.console import table, wording
from offsetwise.console.desk import Held
from offsetwise.console.fleet import figures, frames, sentences
from offsetwise.console.fleet.choosing import SAME_QUERY, Filters
from offsetwise.console.palette import Palette, Tone
from offsetwise.fleet import Fleet, FleetRow, FleetVerdict

Rows = tuple[FleetRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the page says about a whole fleet."""

    answer: tuple[Tone, str, str]
    longest: str
    """The longest time without a batch."""
    counts: Mapping[FleetVerdict, int]
    copies: int
    codes: tuple[str, ...]
    """What the problem filter offers."""
    topics: tuple[str, ...]
    labels: Mapping[str, str]
    """What each checkpoint is called on screen, by URI: its path below the folder that all of them share."""
    parent: str
    """That folder; empty where they share none."""


def now_ms(held: Held[Fleet]) -> int:
    """Give the moment up to which ages are counted: when the fleet was read, so that a rerun changes none."""
    return int(held.at.timestamp() * 1000)


def facts(held: Held[Fleet]) -> Facts:
    """Give what the page says about the whole fleet."""
    return _facts(held.id, held)


def filtered(held: Held[Fleet], filters: Filters) -> Rows:
    """Give the rows that pass, in the chosen order."""
    return _filtered(held.id, filters, held)


def age_map(held: Held[Fleet], colours: Palette) -> tuple[Any, str]:
    """Give the map of the fleet, and what it shows in words."""
    return _age_map(held.id, colours, held)


def fleet_table(held: Held[Fleet], rows: Rows, colours: Palette) -> Styler:
    """Give the coloured table of these rows."""
    return _fleet_table(held.id, tuple(row.uri for row in rows), colours, held, rows)


@st.cache_resource(max_entries=8, show_spinner=False)
def _facts(held_id: int, _held: Held[Fleet]) -> Facts:  # noqa: ARG001 - the key
    rows = _held.value.rows
    copies = sum(row.same_query > 1 for row in rows)
    parent, labels = named([row.uri for row in rows])
    return Facts(
        answer=sentences.answer(rows),
        longest=sentences.longest(rows, now_ms(_held)),
        counts=Counter(row.verdict for row in rows),
        copies=copies,
        codes=(*sorted({code for row in rows for code in row.codes}), *((SAME_QUERY,) if copies else ())),
        topics=tuple(sorted({topic for row in rows for topic, _ in row.topics})),
        labels=labels,
        parent=parent,
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def _filtered(held_id: int, filters: Filters, _held: Held[Fleet]) -> Rows:  # noqa: ARG001 - the key
    return filters.apply(_held.value.rows, now_ms(_held))


@st.cache_resource(max_entries=8, show_spinner=False)
def _age_map(held_id: int, colours: Palette, _held: Held[Fleet]) -> tuple[Any, str]:  # noqa: ARG001 - the key
    rows, now = _held.value.rows, now_ms(_held)
    return figures.age_map(rows, colours, now), figures.takeaway(rows, now)


@st.cache_resource(max_entries=16, show_spinner=False)
def _fleet_table(held_id: int, uris: tuple[str, ...], colours: Palette, _held: Held[Fleet], _rows: Rows) -> Styler:  # noqa: ARG001 - the key
    frame = frames.fleet_table(_rows, facts(_held).labels, now_ms(_held))
    styled = table.printed(frame).format(sentences.age, subset=["age", "since commit"])
    styled = styled.format(sentences.size, subset=["state"])
    tones = [f"color: {colours.tone(sentences.VERDICTS[row.verdict].tone)}; font-weight: 600" for row in _rows]
    copies = [f"color: {colours.tone(Tone.CAREFUL)}" for _ in _rows]
    return styled.apply(lambda _: tones, subset=["verdict"]).apply(lambda _: copies, subset=["copies"])


def named(uris: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Give the folder that all URIs share, and of each the path below it, made visible and unlike any other.

    >>> named(["/data/ckpt/a/orders", "/data/ckpt/b"])
    ('/data/ckpt', {'/data/ckpt/a/orders': 'a/orders', '/data/ckpt/b': 'b'})
    """
    parts = [uri.rstrip("/").split("/") for uri in uris]
    shared = 0
    if parts:
        shortest = min(map(len, parts)) - 1
        shared = next((at for at in range(shortest) if any(one[at] != parts[0][at] for one in parts)), max(shortest, 0))
    made: dict[str, str] = {}
    taken: set[str] = set()
    for uri, one in zip(uris, parts, strict=True):
        label = wording.plain("/".join(one[shared:]))
        if label in taken:
            label = next(again for n in range(2, len(uris) + 2) if (again := f"{label} ({n})") not in taken)
        taken.add(label)
        made[uri] = label
    return "/".join(parts[0][:shared]) if parts else "", made
