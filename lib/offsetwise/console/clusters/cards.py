"""The two clusters at the top of the screen: which they are, when they were read, and what is the matter with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console.asking import asked, busy
from offsetwise.console.blocks import Offer
from offsetwise.console.clusters import words
from offsetwise.console.clusters.questions import ClusterOf
from offsetwise.console.clusters.view import HeldCluster
from offsetwise.console.desk import Desk, Offered
from offsetwise.console.escaping import markdown, plain
from offsetwise.console.explained import linked
from offsetwise.model import Cluster, Snapshot
from offsetwise.wording import many, read_at

_SHOWN_PROBLEMS: Final = 20


def draw(desk: Desk, migration: Offered) -> dict[Cluster, HeldCluster | None]:
    """Draw both, and give what was read of each."""
    questions = {side: ClusterOf(migration=migration.name, cluster=side) for side in Cluster}
    if not migration.recorded and not any(
        desk.held(each) or busy(desk, each) or desk.reading(each) for each in questions.values()
    ):
        with st.container(border=True):
            st.markdown("**Nothing was read yet.**")
            st.markdown(
                "Reading asks both clusters for their topics, logs, configurations and the migration's groups, and "
                "reads MirrorMaker's own topics. Nothing is written."
            )
            st.button(
                "Read both clusters",
                type="primary",
                icon=":material/hub:",
                key="read-both",
                on_click=_read_all,
                args=(desk, tuple(questions.values())),
            )
    made: dict[Cluster, HeldCluster | None] = {}
    columns = st.columns(2, border=True)
    for column, (side, question) in zip(columns, questions.items(), strict=True):
        with column:
            made[side] = _card(desk, migration, question)
    return made


def _read_all(desk: Desk, questions: tuple[ClusterOf, ...]) -> None:
    for question in questions:
        desk.read(question)


def _card(desk: Desk, migration: Offered, question: ClusterOf) -> HeldCluster | None:
    side = question.cluster
    name = migration.old if side is Cluster.OLD else migration.new
    mark = f":blue[**{words.OLD}**]" if side is Cluster.OLD else f":orange[**{words.NEW}**]"
    st.markdown(f"{mark} · **{markdown(name)}**")
    facts = st.container()
    offer = Offer(
        what=f"the {side} cluster",
        now="Read this cluster",
        again="Read again",
        icon=":material/hub:",
        key=f"cluster-{side}",
    )
    held = asked(desk, question, offer)
    with facts:
        if held is not None:
            _facts(held.value.snapshot)
        elif desk.reading(question) is None:
            st.markdown(":gray[not read yet]")
    return held


def _facts(snapshot: Snapshot) -> None:
    st.markdown(f":gray[{markdown(read_at(snapshot.taken_at, datetime.now(UTC)))}]")
    if snapshot.cluster_id is None:
        st.markdown("? cluster id not told")
    else:
        st.code(plain(snapshot.cluster_id), language=None, wrap_lines=True)
    partitions = sum(len(topic.partitions) for topic in snapshot.topics)
    st.markdown(
        f"{many(len(snapshot.topics), 'topic')} · {many(partitions, 'partition')} · "
        f"{many(len(snapshot.groups), 'group')} asked about"
    )
    if snapshot.problems:
        with st.expander(f"▲ {many(len(snapshot.problems), 'problem')} while reading"):
            for problem in snapshot.problems[:_SHOWN_PROBLEMS]:
                st.markdown(f"- **{linked(problem.code)}**: {markdown(problem.message)} {markdown(problem.fix)}")
            if len(snapshot.problems) > _SHOWN_PROBLEMS:
                st.markdown(f":gray[and {len(snapshot.problems) - _SHOWN_PROBLEMS:,} more: they are in the JSON file.]")
