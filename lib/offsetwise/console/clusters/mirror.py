"""Mirror health: last heartbeat, last sync, mirrored up to, and what could not be decoded."""

from __future__ import annotations

import streamlit as st

from offsetwise.clusters.mirror_health import Beat
from offsetwise.console import blocks, guard, paging, table
from offsetwise.console.clusters import frames
from offsetwise.console.clusters.view import View
from offsetwise.console.escaping import markdown
from offsetwise.model import Link
from offsetwise.wording import duration, many, moment


@st.fragment
def draw(view: View) -> None:
    """Draw what MirrorMaker's own topics say about the flow of this migration."""
    st.subheader("Mirror health", anchor=False)
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
                "another program wrote them. They are left out of what stands here.",
                icon=":material/help:",
            )
        _mirrored(view)
        with st.expander("Data: MirrorMaker's own topics"):
            table.plain(frames.mirror_topic_table(health))
            for said in health.statements:
                st.markdown(f":gray[{markdown(said)}]")


def _last_sync(at_ms: int | None, read_ms: int) -> None:
    if at_ms is None:
        st.markdown("? last sync · the snapshot does not say when it was written")
        return
    age = duration(max(0, read_ms - at_ms))
    st.markdown(f"last sync written **{moment(at_ms)}**, {age} before the clusters were read")


def _beats(beats: tuple[Beat, ...]) -> None:
    if not any(beat.ours for beat in beats):
        st.markdown("? No heartbeat of this flow was read: that says nothing about whether the mirror runs.")
    for beat in beats:
        flow = f"{markdown(beat.source)} :material/arrow_forward: {markdown(beat.target)}"
        verdict = ":red[**! stalled**]" if beat.stalled else ":green[**✓ alive**]"
        other = "" if beat.ours else " :gray[(another flow)]"
        age = duration(beat.age_ms)
        st.markdown(
            f"{verdict} · {flow}{other} · last heartbeat **{moment(beat.at_ms)}**, {age} before the clusters were read"
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
    if len(rows) > paging.PAGE_ROWS:
        st.markdown(f":gray[The first {paging.PAGE_ROWS} of {many(len(rows), 'partition')}.]")
    table.plain(
        frames.mirrored_table(rows[: paging.PAGE_ROWS]),
        alt=f"The newest sync of {many(len(rows), 'partition')}, and how both logs go on behind it.",
        widths={"old topic": 104, "p": 36, "verdict": 124, "mirrored up to": 106, "on new": 64},
    )
