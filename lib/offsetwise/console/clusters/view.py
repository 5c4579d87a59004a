"""What the screen derives from the two snapshots, computed once per pair of readings and shared by all sessions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from offsetwise.clusters.mirror_health import MirrorHealth, mirror_health
from offsetwise.clusters.pairs import Difference, TopicPair, differences, pair_topics
from offsetwise.clusters.reading import ReadCluster
from offsetwise.console.desk import Held
from offsetwise.model import GroupState

HeldCluster = Held[ReadCluster]


@dataclass(frozen=True, kw_only=True)
class View:
    """Two clusters side by side; either may not have been read."""

    ids: tuple[int | None, int | None]
    """Of the readings: caches of what is derived use it."""
    old: ReadCluster | None
    new: ReadCluster | None
    pairs: tuple[TopicPair, ...]
    differences: dict[tuple[str | None, str | None], tuple[Difference, ...]]
    """By the key of the pair."""
    health: MirrorHealth

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The names of the pairs, each once."""
        return tuple(dict.fromkeys(pair.name for pair in self.pairs))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups that either cluster was asked about."""
        return tuple(sorted({*self.group_states("old"), *self.group_states("new")}))

    @cached_property
    def differing(self) -> int:
        """How many pairs differ."""
        return sum(1 for found in self.differences.values() if found)

    def group_states(self, side: str) -> dict[str, GroupState]:
        """Give the groups of one side, by name."""
        read = self.old if side == "old" else self.new
        return {} if read is None else {group.name: group for group in read.snapshot.groups}

    def chosen(self, topics: tuple[str, ...], *, only_differing: bool) -> tuple[TopicPair, ...]:
        """Give the pairs that pass the filters."""
        return tuple(
            pair
            for pair in self.pairs
            if (not topics or pair.name in topics) and (not only_differing or self.differences[pair.key])
        )


def view(old: HeldCluster | None, new: HeldCluster | None) -> View:
    """Give what is derived of these readings."""
    return _view(None if old is None else old.id, None if new is None else new.id, old, new)


@st.cache_resource(max_entries=8, show_spinner=False)
def _view(old_id: int | None, new_id: int | None, _old: HeldCluster | None, _new: HeldCluster | None) -> View:
    old = None if _old is None else _old.value
    new = None if _new is None else _new.value
    pairs = pair_topics(old, new)
    return View(
        ids=(old_id, new_id),
        old=old,
        new=new,
        pairs=pairs,
        differences={pair.key: differences(pair) for pair in pairs},
        health=mirror_health(old, new),
    )
