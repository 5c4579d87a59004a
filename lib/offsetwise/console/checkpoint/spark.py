"""What the Checkpoint screen shows of a Spark query: batches over time, their files, its state, its configuration."""

from __future__ import annotations

import streamlit as st

from offsetwise.console import blocks, guard, paging
from offsetwise.console.checkpoint import (
    boxes,
    comparing,
    derived,
    frames,
    raw,
    sentences,
    sources,
    state,
    stepping,
    timeline,
)
from offsetwise.console.desk import Desk, Offered
from offsetwise.console.escaping import markdown
from offsetwise.sources.spark_reading import CheckpointReading
from offsetwise.wording import many, moment, number, size
from offsetwise.wording.verdicts import Tone


def draw(desk: Desk, migration: Offered, name: str, held: derived.Reading) -> None:
    """Draw everything below the restart and its banners."""
    if not migration.recorded:
        with guard.block("running"):
            _running(held, f"{migration.name}/{name}")
    _metrics(held.value)
    stepping.draw(held)
    timeline.draw(held)
    comparing.draw(desk, migration.name, name, held)
    sources.draw(held)
    raw.draw(desk, migration.name, name, held)
    state.draw(desk, migration.name, name, held)
    _configuration(held)


def _running(held: derived.Reading, key: str) -> None:
    """Say that a query seems to run, from file times and from what moved since this browser's last reading."""
    said = [text for text in (sentences.seems_running(held.value), _moved(held, key)) if text]
    if said:
        boxes.draw(
            Tone.CAREFUL,
            f"**Running: a query seems to write to it.** {markdown(' '.join(said))} What is shown may be out of date."
            f"  \n:gray[{markdown(sentences.HOW_TOLD)}]",
        )
    elif sentences.is_copy(held.value):
        st.markdown(
            ":gray[The files are younger than the batches they hold: this is a copy, so their times do not tell "
            "whether a query runs.]"
        )


def _moved(held: derived.Reading, key: str) -> str | None:
    seen = st.session_state.setdefault("checkpoints-seen", {})
    before = seen.get(key)
    if before is None or before[0] != held.id:
        shown = held.value.checkpoint
        moved = None if before is None else sentences.moved_on(before[1], shown)
        seen[key] = before = (held.id, shown, moved)
    moved_on: str | None = before[2]
    return moved_on


def _metrics(read: CheckpointReading) -> None:
    shown = read.checkpoint
    newest = shown.batches[-1] if shown.batches else None
    taken = sum(store.size_bytes for store in shown.state)
    cards = (
        ("Last committed batch", _or_none(shown.last_committed_batch), "The newest file in commits/."),
        ("Last planned batch", _or_none(shown.last_planned_batch), "The newest file in offsets/."),
        (
            "Read again on restart",
            number(sentences.again_on_restart(shown)),
            "Records between the committed and the planned end, added up.",
        ),
        ("Partitions", number(sum(len(one.positions) for one in shown.sources)), "Of its Kafka sources."),
        ("State", size(taken) if shown.state else "none", "Bytes of all files in state/."),
    )
    with st.container(horizontal=True):
        for label, value, help_ in cards:
            st.metric(label, value, border=True, help=help_)
    mark = frames.watermark(newest.watermark_ms) if newest else "?"
    st.markdown(
        f":gray[Watermark of the newest batch: **{mark}** · planned **"
        f"{moment(newest.timestamp_ms if newest else None)}** · offset log v"
        f"{number(shown.offset_log_version)} · commit log v{number(shown.commit_log_version)}]"
    )


@st.fragment
def _configuration(held: derived.Reading) -> None:
    st.subheader("Recorded configuration", anchor=False)
    with guard.block("configuration"):
        pairs = held.value.checkpoint.configuration
        if not pairs:
            blocks.empty("No configuration is recorded.", "Spark 2.1 and older wrote none into the offset log.")
            return
        st.markdown(":gray[What Spark wrote with the newest batch. On restart these values win over the session's.]")
        with st.expander(f"{many(len(pairs), 'setting')}"):
            paging.draw(frames.pair_table(pairs), "setting-rows", alt="Configuration recorded with the newest batch.")


def _or_none(batch: int | None) -> str:
    return "none" if batch is None else number(batch)
