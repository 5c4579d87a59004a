"""The Checkpoint screen: the restart first, then its story, its sources, its files and its state."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import blocks, downloads, guard, paging, table
from offsetwise.console.checkpoint import (
    comparing,
    derived,
    frames,
    raw,
    sentences,
    state,
    stepping,
    timeline,
)
from offsetwise.console.checkpoint.questions import ReadingOf
from offsetwise.console.desk import Desk, Offered, Subject
from offsetwise.console.explained import linked
from offsetwise.console.palette import Tone
from offsetwise.console.wording import many, markdown, moment, number, plain, size
from offsetwise.model import Checkpoint, Problem
from offsetwise.sources.spark_reading import CheckpointReading

_BOX: Final = {
    Tone.WRONG: (st.error, ":material/error:"),
    Tone.CAREFUL: (st.warning, ":material/warning:"),
    Tone.UNKNOWN: (st.info, ":material/info:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}
_COMPARE: Final = Path("pages/explore/compare.py")
_RAW_CHARACTERS: Final = 4_000


def no_checkpoint(migration: Offered, subject: Subject) -> None:
    """Say that a consumer group has no checkpoint, and where its positions are shown."""
    blocks.empty(
        f"{markdown(subject.name)} is a consumer group: it has no checkpoint.",
        "Its positions are kept by the old cluster itself. Compare shows them beside the new cluster.",
    )
    st.page_link(
        _COMPARE,
        label="Open in Compare",
        icon=":material/compare_arrows:",
        query_params={"migration": migration.name, "of": str(subject)},
    )


def reading(desk: Desk, migration: Offered, subject: Subject, head: guard.Head) -> derived.Reading | None:
    """Give the reading to show. A checkpoint costs little and asks no cluster, so it is read when the page opens."""
    question = ReadingOf(migration=migration.name, name=subject.name)
    name = markdown(str(subject))
    held = blocks.live(
        desk,
        question,
        blocks.Offer(
            what=name,
            why="Reading lists the folder and reads its small log files. Nothing is written.",
            now="Read now",
            again="Read again",
            icon=":material/save:",
            key="checkpoint",
            at_once=True,
        ),
    )
    if held is None:
        head.says(f"{name} · not read")
        return None
    shown = held.value.checkpoint
    query = f" · query id **{markdown(shown.job_id)}**" if shown.job_id else ""
    where = "bundled sample · " if desk.recorded(question) else ""
    head.says(f"{where}{name}{query} · read **{held.at:%Y-%m-%d %H:%M:%S} UTC** · :material/lock: read-only")
    return held


def draw(desk: Desk, migration: Offered, subject: Subject, held: derived.Reading) -> None:
    """Draw the whole screen of one reading."""
    shown = held.value.checkpoint
    _restart(shown)
    with guard.block("banners"):
        _banners(shown)
        if not migration.recorded:
            _running(held, f"{migration.name}/{subject.name}")
    _metrics(held.value)
    stepping.draw(held)
    timeline.draw(held)
    comparing.draw(desk, migration.name, subject.name, held)
    _sources(held)
    raw.draw(desk, migration.name, subject.name, held)
    state.draw(desk, migration.name, subject.name, held)
    _configuration(held)
    _identifiers(held)


def _restart(shown: Checkpoint) -> None:
    box, icon = _BOX[sentences.restart_tone(shown)]
    box(f"**The restart.** {markdown(shown.restart)}", icon=icon)


def _banners(shown: Checkpoint) -> None:
    for problem in shown.problems:
        _banner(problem)


def _banner(problem: Problem) -> None:
    box, icon = _BOX[sentences.tone(problem)]
    fix = f"  \n**What to do:** {markdown(problem.fix)}" if problem.fix else ""
    said = markdown(sentences.beside_restart(problem))
    box(f"**{sentences.title(problem)}** ({linked(problem.code)})  \n{said}{fix}", icon=icon)


def _running(held: derived.Reading, key: str) -> None:
    """Say that a query seems to run, from file times and from what moved since this browser's last reading."""
    said = [text for text in (sentences.seems_running(held.value), _moved(held, key)) if text]
    if said:
        box, icon = _BOX[Tone.CAREFUL]
        box(
            f"**Running: a query seems to write to it.** {markdown(' '.join(said))} What is shown may be out of date."
            f"  \n:gray[{markdown(sentences.HOW_TOLD)}]",
            icon=icon,
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
def _sources(held: derived.Reading) -> None:
    st.subheader("Sources", anchor=False)
    with guard.block("sources"):
        shown = held.value.checkpoint
        if not shown.sources:
            blocks.empty("No source is recorded.", "A query records its sources when it plans its first batch.")
            return
        table.plain(frames.source_table(shown), alt=f"{many(len(shown.sources), 'source')} in plan order.")
        for source in shown.sources:
            if source.raw is not None:
                st.markdown(f"Source **{markdown(source.id)}** is not Kafka. Its offset, as it stands:")
                st.code(plain(source.raw[:_RAW_CHARACTERS]), language=None, wrap_lines=True)
        positions = derived.position_table(held)
        if len(positions):
            with st.expander(f"Where reading continues in {many(len(positions), 'partition')}"):
                paging.draw(positions, "position-rows", alt="The next record to read, by partition.", missing="–")
                with st.container(horizontal=True):
                    downloads.rows("positions", "positions", lambda: derived.position_table(held))


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


def _identifiers(held: derived.Reading) -> None:
    shown = held.value.checkpoint
    with downloads.beside(":gray[The whole checkpoint as it was read, as a file of Offsetwise:]"):
        downloads.button(
            "Checkpoint (JSON)",
            "checkpoint.json",
            lambda: derived.checkpoint_file(held),
            key="checkpoint-file",
            says="What `offsetwise inspect --json` prints of it.",
        )
    with st.expander("Identifiers, to copy"):
        for title, value in (
            ("checkpoint", shown.uri),
            ("query id", shown.job_id),
            ("files that decide the restart, SHA-256", "\n".join(f"{d}  {path}" for path, d in shown.offset_files)),
        ):
            if value:
                st.markdown(title)
                st.code("\n".join(map(plain, value.split("\n"))), language=None, wrap_lines=True)


def _or_none(batch: int | None) -> str:
    return "none" if batch is None else number(batch)
