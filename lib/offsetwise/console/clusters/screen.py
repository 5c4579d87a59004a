"""The Clusters screen: both clusters side by side, what differs, how far the mirror got, and how to reach them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import guard
from offsetwise.console.clusters import access, cards, mirror, retaining, topics, words
from offsetwise.console.clusters.groups import draw as draw_groups
from offsetwise.console.clusters.view import HeldCluster, View, view
from offsetwise.console.desk import Desk, Offered
from offsetwise.console.escaping import markdown
from offsetwise.model import Cluster
from offsetwise.wording import read_at
from offsetwise.wording.verdicts import Tone
from offsetwise.workflow import check_two_clusters

_BOX: Final = {
    Tone.WRONG: (st.error, ":material/warning:"),
    Tone.CAREFUL: (st.warning, ":material/difference:"),
    Tone.UNKNOWN: (st.info, ":material/help:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def draw(desk: Desk, migration: Offered, head: guard.Head) -> None:
    """Draw the whole screen."""
    held = cards.draw(desk, migration)
    shown = view(held[Cluster.OLD], held[Cluster.NEW])
    head.says(_caption(migration, shown))
    with guard.block("clusters"):
        if shown.old is not None and shown.new is not None:
            check_two_clusters(shown.old.snapshot, shown.new.snapshot)
        if shown.old is not None or shown.new is not None:
            _read(desk, migration, held, shown)
    access.draw(desk, migration)


def _read(desk: Desk, migration: Offered, held: dict[Cluster, HeldCluster | None], shown: View) -> None:
    tone, said = words.answer(shown)
    box, icon = _BOX[tone]
    box(said, icon=icon)
    with guard.block("topics"):
        if shown.pairs:
            topics.draw(shown)
    with guard.block("groups"):
        draw_groups(shown)
    with guard.block("mirror"):
        mirror.draw(shown)
    with guard.block("retention"):
        retaining.draw(desk, migration, held)


def _caption(migration: Offered, shown: View) -> str:
    told = []
    for word, name, read in (("old", migration.old, shown.old), ("new", migration.new, shown.new)):
        if read is None:
            told.append(f"{word} **{markdown(name)}**, not read")
        else:
            when = markdown(read_at(read.snapshot.taken_at, datetime.now(UTC)))
            told.append(f"{word} **{markdown(name)}** (cluster id {markdown(read.snapshot.cluster_id or '?')}), {when}")
    return f"{' · '.join(told)} · :material/lock: read-only"
