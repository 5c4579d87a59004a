from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.clusters.mirror_health import Beat, Mirrored
from offsetwise.console.explore.clusters import summary
from offsetwise.console.explore.clusters.summary import View
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, evidence, selectors, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.findings.groups import share_lag
from offsetwise.model import GroupOffset, GroupState, Link, MirrorTopic, TopicPartition
from offsetwise.wording import clock, duration, many

MIRRORED: Final[Columns[Mirrored]] = (
    Column("old topic", lambda row: row.topic, 104),
    table.partition(lambda row: row.partition),
    Column("verdict", summary.mirrored, 124),
    Column("mirrored up to", lambda row: row.upstream, 106),
    Column("on new", lambda row: row.downstream, 64),
    Column("behind, old", lambda row: row.old_behind),
    Column("behind, new", lambda row: row.new_behind),
)
MIRROR_TOPICS: Final[Columns[tuple[str, MirrorTopic]]] = (
    Column("cluster", lambda row: row[0]),
    Column("topic", lambda row: row[1].name),
    Column("holds", lambda row: row[1].kind),
    Column("records", lambda row: row[1].records),
    Column("undecodable", lambda row: row[1].undecodable),
    Column("newest record (UTC)", lambda row: Time(row[1].newest_ms)),
    Column("problem", lambda row: row[1].error or ""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    old_topic: str
    at: TopicPartition
    """On the new cluster."""
    old: GroupOffset | None
    new: GroupOffset | None
    mirror_maker: int | None
    hint: str


COMMITTED: Final[Columns[Committed]] = (
    Column("old topic", lambda row: row.old_topic, 104),
    Column("new topic", lambda row: row.at.topic, 104),
    table.partition(lambda row: row.at.partition),
    Column("old offset", lambda row: None if row.old is None else row.old.offset),
    Column("new offset", lambda row: None if row.new is None else row.new.offset),
    Column("MirrorMaker says", lambda row: row.mirror_maker, 130),
    Column("hint", lambda row: row.hint, 420),
)


@st.fragment
def mirror_health(view: View) -> None:
    blocks.section("Mirror health")
    with guard.block("mirror-health"):
        link = next(read.link for read in (view.old, view.new) if read is not None)
        health = view.health
        if link is None and not health.topics:
            st.markdown("No topic of MirrorMaker's was seen, and no migration file says here whether there should be.")
            return
        if link is not Link.MIRRORMAKER and not health.topics:
            st.markdown(
                f"The migration's link is `{link}`: MirrorMaker's topics say nothing about it, and none are there."
            )
            return
        if not health.topics:
            blocks.empty(
                "No topic of MirrorMaker's was seen.",
                "It has not run, its topics have other names, or the user may not see them: grant READ on "
                "`mm2-offset-syncs.*`, `*.checkpoints.internal` and `heartbeats`.",
            )
            return
        _beats(health.beats)
        if health.partitions:
            _last_sync(health.last_sync_ms, health.read_ms)
        undecodable = sum(topic.undecodable for _, topic in health.topics)
        if undecodable:
            st.warning(
                f"**{many(undecodable, 'record')} of MirrorMaker's topics could not be decoded:** another version or "
                "another program wrote them. They are left out here.",
                icon=":material/help:",
            )
        _mirrored(view)
        with st.expander("Data: MirrorMaker's own topics"):
            table.show(MIRROR_TOPICS, health.topics)
            for said in health.statements:
                st.markdown(f":gray[{sentence(said)}]")


def _last_sync(at_ms: int | None, read_ms: int) -> None:
    if at_ms is None:
        st.markdown("? last sync · the snapshot does not say when it was written")
        return
    age = duration(max(0, read_ms - at_ms))
    st.markdown(f"last sync written **{clock(at_ms)}**, {age} before the clusters were read")


def _beats(beats: tuple[Beat, ...]) -> None:
    if not any(beat.ours for beat in beats):
        st.markdown("? No heartbeat of this flow was read: that says nothing about whether the mirror runs.")
    for beat in beats:
        flow = f"{markdown(beat.source)} :material/arrow_forward: {markdown(beat.target)}"
        verdict = ":red[**! stalled**]" if beat.stalled else ":green[**✓ alive**]"
        other = "" if beat.ours else " :gray[(another flow)]"
        age = duration(beat.age_ms)
        st.markdown(
            f"{verdict} · {flow}{other} · last heartbeat **{clock(beat.at_ms)}**, {age} before the clusters were read"
        )


def _mirrored(view: View) -> None:
    rows = view.health.partitions
    if not rows:
        st.markdown("? No offset sync of this flow was read: how far it got is unknown.")
        return
    st.markdown(
        ":gray[Each partition was mirrored up to its newest sync: that offset on old, and where the mirror put it on "
        "new. MirrorMaker writes a sync only now and then, so no more is claimed; what both logs hold "
        "behind it is counted in offsets.]"
    )
    if len(rows) > table.PAGE_ROWS:
        st.markdown(f":gray[The first {table.PAGE_ROWS} of {many(len(rows), 'partition')}.]")
    table.show(
        MIRRORED,
        rows[: table.PAGE_ROWS],
        alt=f"The newest sync of {many(len(rows), 'partition')}, and how both logs go on behind it.",
    )


@st.fragment
def groups(view: View) -> None:
    blocks.section("Groups")
    with guard.block("group-tables"):
        if not view.groups:
            st.markdown("The migration names no group. Add those to be looked at under `groups` in its file.")
            return
        table.show(
            _groups(view),
            view.groups,
            alt=f"{many(len(view.groups), 'group')} with state and number of committed partitions on both clusters.",
        )
        chosen = selectors.choice("Offsets of", view.groups, "group", width=420)
        results = commits(view, chosen)
        if not results:
            st.markdown("It has committed nothing on either cluster, as far as was read.")
            return
        if len(results) > table.PAGE_ROWS:
            st.markdown(f":gray[The first {table.PAGE_ROWS} of {many(len(results), 'partition')}.]")
        table.show(
            COMMITTED,
            results[: table.PAGE_ROWS],
            alt=f"What the group committed in {many(len(results), 'partition')}, beside MirrorMaker's answer.",
            missing="none" if None not in view.ids else "?",
        )
        evidence.notes("What the hints say", [("", commit.hint) for commit in results])


def _groups(view: View) -> Columns[str]:
    old, new = view.group_states("old"), view.group_states("new")
    others = {name for states in (old, new) for name, group in states.items() if kind_of(group)}
    kinds: Columns[str] = (
        Column("kind", lambda name: kind_of(old.get(name)) or kind_of(new.get(name)) or "consumer group", 124),
        Column(
            "lag old, at most",
            lambda name: _lag_at_most(view, old.get(name)),
            124,
            "Of a share group: log ends minus start offsets. Records above a start offset may be acknowledged already.",
        ),
    )
    return (
        Column("group", lambda name: name, 160),
        *(kinds if others else ()),
        Column("state old", lambda name: _state(old.get(name)), 100),
        Column("state new", lambda name: _state(new.get(name)), 100),
        Column(
            "committed old",
            lambda name: _committed(old.get(name)),
            108,
            "Partitions with a committed offset, or with a start offset of a share group.",
        ),
        Column(
            "committed new",
            lambda name: _committed(new.get(name)),
            114,
            "Partitions with a committed offset, or with a start offset of a share group.",
        ),
    )


@cached(16)
def commits(view: View, group: str) -> list[Committed]:
    names = {} if view.old is None else dict(view.old.counterparts)
    old_names = {new_name: name for name, new_name in names.items()}
    old, new = (_offsets(view.group_states(side).get(group)) for side in ("old", "new"))
    mm2 = _mirror_answers(view, group)
    results = []
    for at in sorted({TopicPartition(names.get(topic, topic), number) for topic, number in old} | set(new) | set(mm2)):
        old_topic, said = old_names.get(at.topic, at.topic), mm2.get(at)
        of_old, of_new = old.get(TopicPartition(old_topic, at.partition)), new.get(at)
        hint = "? new cluster not read" if view.new is None else _hint(of_old, of_new, said)
        results.append(Committed(old_topic=old_topic, at=at, old=of_old, new=of_new, mirror_maker=said, hint=hint))
    return results


def _state(group: object) -> str:
    error, state = getattr(group, "error", None), getattr(group, "state", None)
    if group is None:
        return "? not read"
    return f"? {error}" if error else state or "?"


def _committed(group: object) -> int | None:
    return None if group is None or getattr(group, "error", None) else len(getattr(group, "positions", ()))


def kind_of(group: GroupState | None) -> str:
    """Return the type of a group that is not a consumer group; empty if it is one, or was not read."""
    if group is None:
        return ""
    if group.is_share_group:
        return "share group"
    return "Kafka Streams" if group.application is not None else ""


def _lag_at_most(view: View, group: GroupState | None) -> int | None:
    if view.old is None or group is None or not group.start_offsets:
        return None
    lag, unread = share_lag(group, view.old.snapshot)
    return None if unread else lag


def _offsets(group: object) -> dict[TopicPartition, GroupOffset]:
    return {offset.topic_partition: offset for offset in getattr(group, "positions", ())}


def _mirror_answers(view: View, group: str) -> dict[TopicPartition, int]:
    if view.new is None:
        return {}
    return {
        checkpoint.topic_partition: checkpoint.downstream
        for _, checkpoints in view.new.snapshot.mirror.checkpoints
        for checkpoint in checkpoints
        if checkpoint.group == group
    }


def _hint(old: GroupOffset | None, new: GroupOffset | None, mm2: int | None) -> str:
    if new is None:
        return "nothing committed on new"
    if mm2 is not None and new.offset > mm2:
        same = ", the old number as it is" if old is not None and old.offset == new.offset else ""
        return f"▲ {new.offset - mm2:,} past MirrorMaker's answer{same}: Compare proves what it costs (TARGET_AHEAD)"
    if old is not None and old.offset == new.offset:
        return "? the same number as on old: Compare proves whether it is the same record"
    return ""
