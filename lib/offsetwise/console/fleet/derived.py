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

from offsetwise.console import escaping, table
from offsetwise.console.desk import Held
from offsetwise.console.fleet import figures, frames, sentences
from offsetwise.console.fleet.choosing import SAME_QUERY, Filters
from offsetwise.console.palette import Palette
from offsetwise.fleet import Fleet, FleetRow, FleetVerdict
from offsetwise.wording.verdicts import Tone

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
    """What the problem filter offers, as it stands on screen."""
    topics: tuple[str, ...]
    """As it stands on screen too."""
    labels: Mapping[str, str]
    """What each checkpoint is called on screen, by URI; see `named`."""


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
    labels = facts(held).labels
    return _fleet_table(held.id, tuple(labels[row.uri] for row in rows), colours, held, rows)


@st.cache_resource(max_entries=8, show_spinner=False)
def _facts(held_id: int, _held: Held[Fleet]) -> Facts:  # noqa: ARG001 - the key
    rows = _held.value.rows
    copies = sum(row.same_query > 1 for row in rows)
    return Facts(
        answer=sentences.answer(rows),
        longest=sentences.longest(rows, now_ms(_held)),
        counts=Counter(row.verdict for row in rows),
        copies=copies,
        codes=(
            *sorted({escaping.plain(code) for row in rows for code in sentences.problems(row)}),
            *((SAME_QUERY,) if copies else ()),
        ),
        topics=tuple(sorted({escaping.plain(topic) for row in rows for topic, _ in row.topics})),
        labels=named([row.uri for row in rows], _held.value.roots),
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def _filtered(held_id: int, filters: Filters, _held: Held[Fleet]) -> Rows:  # noqa: ARG001 - the key
    return filters.apply(_held.value.rows, now_ms(_held))


@st.cache_resource(max_entries=8, show_spinner=False)
def _age_map(held_id: int, colours: Palette, _held: Held[Fleet]) -> tuple[Any, str]:  # noqa: ARG001 - the key
    rows, now = _held.value.rows, now_ms(_held)
    return figures.age_map(rows, colours, now), figures.takeaway(rows, now)


@st.cache_resource(max_entries=16, show_spinner=False)
def _fleet_table(held_id: int, ids: tuple[str, ...], colours: Palette, _held: Held[Fleet], _rows: Rows) -> Styler:  # noqa: ARG001 - the key
    frame = frames.fleet_table(_rows, facts(_held).labels, now_ms(_held))
    styled = table.printed(frame).format(sentences.age, subset=["age", "since commit"])
    styled = styled.format(sentences.size, subset=["state"])
    tones = [f"color: {colours.tone(sentences.VERDICTS[row.verdict].tone)}; font-weight: 600" for row in _rows]
    copies = [f"color: {colours.tone(Tone.CAREFUL)}" for _ in _rows]
    return table.dressed(table.dressed(styled, "verdict", tones), "copies", copies)


def named(uris: Sequence[str], roots: Sequence[str] = ()) -> dict[str, str]:
    """Give what each is called on screen: its path below its root, made visible; the whole URI where that is no name.

    >>> named(["/data/ckpt/a/orders", "/data/ckpt/b", "/etc"], ["/data/ckpt"])
    {'/data/ckpt/a/orders': 'a/orders', '/data/ckpt/b': 'b', '/etc': '/etc'}
    """
    bases = {uri: _base(uri, roots) for uri in uris}
    several = len({base for base in bases.values() if base is not None}) > 1
    short = {uri: escaping.plain(_below(uri, base, several=several)) for uri, base in bases.items()}
    count = Counter(short.values())
    made: dict[str, str] = {}
    taken: set[str] = set()
    for uri, name in short.items():
        label = name if count[name] == 1 else escaping.plain(uri)
        # Two names that differ in invisible characters only could still look the same.
        made[uri] = label if label not in taken else f"{label} ({len(taken)})"
        taken.add(made[uri])
    return made


def _below(uri: str, base: str | None, *, several: bool) -> str:
    if base is None:
        return uri
    path, name = uri.rstrip("/")[len(base) + 1 :], base.rpartition("/")[2]
    return f"{name}/{path}" if path and several else path or name


def _base(uri: str, roots: Sequence[str]) -> str | None:
    """Give the root that a URI stands below, the longest of several."""
    bases = (root.rstrip("/") for root in roots)
    return max((base for base in bases if f"{uri.rstrip('/')}/".startswith(f"{base}/")), key=len, default=None)
