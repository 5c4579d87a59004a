"""When retention reaches the positions: of the checkpoints and groups on the old cluster, the groups on the new one."""

from __future__ import annotations

import streamlit as st

from offsetwise.clusters.retention import RetentionDeadline, Standing, deadline
from offsetwise.console import guard, paging, table
from offsetwise.console.asking import asked
from offsetwise.console.blocks import Offer
from offsetwise.console.clusters import frames, history, notes
from offsetwise.console.clusters.questions import ClusterOf, StandingsOf
from offsetwise.console.clusters.view import HeldCluster
from offsetwise.console.desk import Desk, Offered
from offsetwise.model import Cluster, TopicPartition
from offsetwise.wording import many


def draw(desk: Desk, migration: Offered, held: dict[Cluster, HeldCluster | None]) -> None:
    """Draw it for each cluster that was read."""
    st.subheader("When retention reaches the positions", anchor=False)
    st.markdown(
        ":gray[The earliest time at which the record at a position can be deleted: its own timestamp and retention.ms, "
        "else the rate at which the log start moved between two readings.]"
    )
    for side, read in held.items():
        if read is None:
            continue
        with guard.block(f"retention-{side}"):
            st.markdown(f"**{'● old' if side is Cluster.OLD else '◆ new'}**")
            _of_cluster(desk, migration, ClusterOf(migration=migration.name, cluster=side), read)


def _of_cluster(desk: Desk, migration: Offered, question: ClusterOf, read: HeldCluster) -> None:
    history.remember(question, read)
    standings, known = _committed(read), 0
    if not migration.recorded:
        offer = Offer(
            what=f"the records at the positions on the {question.cluster} cluster",
            now="Read the records at the positions",
            again="Read the records again",
            icon=":material/schedule:",
            key=f"standings-{question.cluster}",
        )
        asked_for = asked(desk, StandingsOf(migration=migration.name, cluster=question.cluster), offer)
        if asked_for is not None:
            standings, known = asked_for.value, asked_for.id
    if not standings:
        st.markdown("No position is known here: no group of the migration committed anything on this cluster.")
        return
    made = _deadlines(question, read.id, known, read, standings)
    table.plain(
        frames.retention_table(made[: paging.PAGE_ROWS]),
        alt=f"When retention reaches {many(len(made), 'position')}, soonest first, and how that is known.",
        widths={
            "position of": 150,
            "topic": 110,
            "p": 40,
            "record time (UTC)": 180,
            "reached from (UTC)": 180,
            "method": 90,
            "why": 700,
        },
    )
    notes.draw("How that is known", [(each.method.value, each.why) for each in made])
    if len(made) > paging.PAGE_ROWS:
        st.markdown(f":gray[The soonest {paging.PAGE_ROWS} of {many(len(made), 'position')}.]")


@st.cache_resource(max_entries=16, show_spinner=False)
def _deadlines(
    question: ClusterOf,
    read_id: int,  # noqa: ARG001 - the key, with the other id
    standings_id: int,  # noqa: ARG001 - as above
    _read: HeldCluster,
    _standings: tuple[Standing, ...],
) -> list[RetentionDeadline]:
    topics = {topic.name: topic for topic in _read.value.snapshot.topics}
    logs = {(topic.name, each.partition): each for topic in topics.values() for each in topic.partitions}
    made = [
        deadline(
            each,
            topics.get(each.partition.topic),
            logs.get((each.partition.topic, each.partition.partition)),
            history.starts(question, each.partition),
        )
        for each in _standings
    ]
    return sorted(made, key=_soonest)


def _soonest(each: RetentionDeadline) -> tuple[bool, int, str]:
    return each.at_ms is None, each.at_ms or 0, str(each.standing.partition)


def _committed(read: HeldCluster) -> tuple[Standing, ...]:
    return tuple(
        Standing(
            of=f"group {group.name}",
            partition=TopicPartition(topic=each.topic, partition=each.partition),
            offset=each.offset,
            record_ms=None,
        )
        for group in read.value.snapshot.groups
        for each in group.offsets
    )
