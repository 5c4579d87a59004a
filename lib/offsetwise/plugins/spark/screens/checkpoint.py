from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.explore.checkpoint import repairs, sources
from offsetwise.console.explore.checkpoint.sources import restart_tone
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, layout, table
from offsetwise.console.widgets.blocks import Card, counted, draw_answer
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.shards import in_shards
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.engines.engine import CheckpointReading
from offsetwise.model import Checkpoint
from offsetwise.model.state import StateRows, StoreRows
from offsetwise.plugins.spark.engine.details import StateStore, spark_details
from offsetwise.plugins.spark.screens import batches, files, steps
from offsetwise.position import offset_of
from offsetwise.wording import clock, many, number, size
from offsetwise.wording.verdicts import Tone

YOUNG_MS: Final = 120_000
"""A log written this shortly before the reading is taken as a sign of a running query."""
COPIED_MS: Final = 600_000
"""Spark writes `offsets/N` when it plans batch N. A file much younger than its plan was written by a copy."""
HOW_TOLD: Final = (
    "Told by the times of the files in offsets/ and commits/ and by what changed between two readings. Nothing locks "
    "a checkpoint: a query that waits for data looks like one that was stopped."
)
_STATE: Final[Columns[StateStore]] = (
    Column("operator", lambda store: store.operator),
    Column("partitions", lambda store: store.partitions),
    Column("files", lambda store: store.files),
    Column("bytes", lambda store: store.size_bytes),
    Column("rows, by its files", lambda store: store.keys),
)
_ROWS: Final[Columns[StoreRows]] = (
    Column("operator", lambda rows: rows.operator),
    Column("name", lambda rows: rows.operator_name),
    Column("store", lambda rows: rows.store),
    Column("partitions", lambda rows: rows.partitions),
    Column("rows", lambda rows: rows.total),
)
_PARTITION_ROWS: Final[Columns[tuple[StoreRows, int, int]]] = (
    Column("operator", lambda row: row[0].operator),
    Column("store", lambda row: row[0].store),
    Column("partition", lambda row: row[1]),
    Column("rows", lambda row: row[2]),
)
"""A store that was counted, a partition of it, and its rows; 0 if it has none."""
_OFFER: Final = blocks.Offer(
    what="the rows of the state stores",
    why="Spark starts if it does not run yet, and reads every state store of the last committed batch with its own "
    "state-metadata and statestore readers. It writes nothing. Large state takes minutes; it can be stopped.",
    now="Count rows with Spark",
    again="Count again",
    icon=":material/database:",
    key="state",
    stop="Stop counting",
)


def draw(answers: Answers, migration: Offered, name: str, reading: sources.Reading) -> None:
    if not migration.recorded:
        with guard.block("running"):
            _running(reading, f"{migration.name}/{name}")
    _metrics(reading.value)
    layout.tabs(
        {
            "Restart": partial(steps.draw, reading),
            "Batches": partial(batches.timeline, reading),
            "Two batches": partial(batches.compared, answers, migration.name, name, reading),
            "Sources": partial(sources.draw, reading),
            "Files": partial(files.draw, answers, migration.name, name, reading),
            "State": partial(_state_stores, answers, migration.name, name, reading),
            "Configuration": partial(_configuration, reading),
        }
    )
    repairs.draw(answers, migration, name, reading.value.checkpoint)


def facts(read: Checkpoint) -> None:
    stores = spark_details(read).state
    if stores:
        with st.expander("State, by operator"):
            table.show(_STATE, stores)


def _running(reading: sources.Reading, key: str) -> None:
    said = [text for text in (seems_running(reading.value), _moved(reading, key)) if text]
    if said:
        blocks.box(
            Tone.CAREFUL,
            f"**Running: a query seems to write to it.** {markdown(' '.join(said))} What is shown may be out of date."
            f"  \n:gray[{markdown(HOW_TOLD)}]",
        )
    elif is_copy(reading.value):
        st.markdown(
            ":gray[The files are younger than the batches they hold: this is a copy, so their times do not tell "
            "whether a query runs.]"
        )


def _moved(reading: sources.Reading, key: str) -> str | None:
    previous = st.session_state.setdefault("checkpoints-seen", {})
    before = previous.get(key)
    if before is None or before[0] != reading.id:
        shown = reading.value.checkpoint
        moved = None if before is None else changed_between(before[1], shown)
        previous[key] = before = (reading.id, shown, moved)
    moved_on: str | None = before[2]
    return moved_on


def _metrics(read: CheckpointReading) -> None:
    shown = read.checkpoint
    details = spark_details(shown)
    newest = details.batches[-1] if details.batches else None
    blocks.cards(
        (
            Card("Last committed batch", _or_none(details.last_committed_batch), "The newest file in commits/."),
            Card("Last planned batch", _or_none(details.last_planned_batch), "The newest file in offsets/."),
            *_again(shown),
            Card(
                "Shards" if in_shards(shown) else "Partitions",
                number(sum(len(source.positions) + len(source.shards) for source in shown.sources)),
                "Of its sources.",
            ),
            Card("State", size(details.state_bytes) if details.state else "none", "Bytes of all files in state/."),
        )
    )
    if newest is None:
        return
    commits = "" if details.last_committed_batch is None else f" · commit log v{number(details.commit_log_version)}"
    st.markdown(
        f":gray[Watermark of the newest batch: **{sources.watermark(newest.watermark_ms)}** · planned "
        f"**{clock(newest.timestamp_ms)}** · offset log v{number(details.offset_log_version)}{commits}]"
    )


def _again(shown: Checkpoint) -> Iterator[Card]:
    """Yield the number of records that a restart reads again; nothing for shards, whose records cannot be counted."""
    if not in_shards(shown):
        says = "Records between the committed and the planned end, added up."
        yield counted("Read again on restart", again_on_restart(shown), says, Tone.CAREFUL)


@st.fragment
def _configuration(reading: sources.Reading) -> None:
    blocks.section("Recorded configuration")
    with guard.block("configuration"):
        pairs = spark_details(reading.value.checkpoint).configuration
        if not pairs:
            blocks.empty("No configuration is recorded.", "Spark 2.1 and older wrote none into the offset log.")
            return
        st.markdown(":gray[What Spark wrote with the newest batch. On restart these values win over the session's.]")
        with st.expander(f"{many(len(pairs), 'setting')}"):
            table.paged(sources.PAIRS, pairs, "setting-rows", alt="Configuration recorded with the newest batch.")


def _or_none(batch: int | None) -> str:
    return "none" if batch is None else number(batch)


def seems_running(reading: CheckpointReading) -> str | None:
    """Explain why a query seems to run on it, from the times of its files alone; None if nothing points to it."""
    newest = reading.newest
    if newest is None or is_copy(reading):
        return None
    age = reading.read_at_ms - newest.modified_ms
    if age >= YOUNG_MS:
        return None
    when = f"{age / 1000:.0f} s before this reading" if age >= 0 else "in the future by this machine's clock"
    return f"{newest.path} was written {when}."


def is_copy(reading: CheckpointReading) -> bool:
    """Return whether its files were copied: then their times tell nothing about a query."""
    planned = next(
        (
            batch
            for batch in reading.checkpoint.details.batches
            if batch.id == reading.checkpoint.details.progress.planned
        ),
        None,
    )
    if reading.newest_plan is None or planned is None or planned.timestamp_ms is None:
        return False
    return reading.newest_plan.modified_ms - planned.timestamp_ms > COPIED_MS


def changed_between(before: Checkpoint, now: Checkpoint) -> str | None:
    """Describe what changed between two readings; None if nothing did."""
    changes = [
        f"the newest {what} batch went from {number(old)} to {number(new)}"
        for what, old, new in (
            ("planned", before.details.progress.planned, now.details.progress.planned),
            ("committed", before.details.progress.committed, now.details.progress.committed),
        )
        if old != new
    ]
    return f"Between two readings {' and '.join(changes)}." if changes else None


def again_on_restart(checkpoint: Checkpoint) -> int | None:
    """Count what a restart now would read again; None where that cannot be told."""
    if checkpoint.details.progress.again is None:
        if checkpoint.details.progress.committed is not None:
            return 0
        return None if checkpoint.details.batches or restart_tone(checkpoint) is Tone.WRONG else 0
    positions = [position for source in checkpoint.sources for position in source.positions]
    steps = [
        offset_of(position.planned_offset) - offset_of(position.offset)
        for position in positions
        if position.planned_offset is not None
    ]
    return None if not steps or min(steps) < 0 else sum(steps)


@st.fragment
def _state_stores(answers: Answers, migration: str, name: str, reading: sources.Reading) -> None:
    blocks.section("State stores")
    with guard.block("state"):
        stores = spark_details(reading.value.checkpoint).state
        if not stores:
            blocks.empty("The query keeps no state.", "Only stateful operators write into state/.")
            return
        table.show(_STATE, stores, alt=f"State of {many(len(stores), 'operator')}, from its files.")
        st.markdown(
            ":gray[Rows are known from the files where RocksDB wrote a snapshot; otherwise only Spark can count them.]"
        )
        question = Question.of(Reader.state_rows, migration, name)
        counted = draw_answer(answers, question, _OFFER)
        if counted is not None:
            _rows(counted.value, clock(counted.at))
            newest = reading.value.checkpoint.details.progress.committed
            if newest != counted.value.batch:
                st.markdown(
                    f":orange-badge[▲ older] These rows are those after batch {number(counted.value.batch)}; batch "
                    f"{number(newest)} is committed by now."
                )


def _rows(state: StateRows, at: str) -> None:
    failed = [store for store in state.stores if store.problem is not None]
    total = sum(store.total or 0 for store in state.stores)
    least = "at least " if failed else ""
    said = f"{least}{many(total, 'row')} in {many(len(state.stores), 'state store')} after batch {number(state.batch)}"
    if len(failed) == len(state.stores):
        said = f"No state store could be counted after batch {number(state.batch)}"
    st.markdown(f"**{said}** · {state.kind}, counted by Spark {markdown(state.spark)} at {at}")
    table.show(_ROWS, state.stores, alt=said)
    for store_rows in failed:
        st.markdown(
            f":orange-badge[? not counted] operator {number(store_rows.operator)}, store {markdown(store_rows.store)}: "
            f"{sentence(store_rows.problem or '')}"
        )
    typed = [store for store in state.stores if store.columns]
    if typed:
        with st.expander("Types of keys and values"):
            for store_rows in typed:
                st.markdown(f"operator {number(store_rows.operator)}, store {markdown(store_rows.store)}")
                st.code(plain(store_rows.columns), language=None, wrap_lines=True)
    rows = [
        (store, partition, dict(store.rows).get(partition, 0))
        for store in state.stores
        if store.problem is None
        for partition in range(store.partitions)
    ]
    if rows:
        with st.expander("Rows by partition"):
            table.paged(_PARTITION_ROWS, rows, "state-rows", alt=said)
            with st.container(horizontal=True):
                downloads.rows("state-rows", "state-rows-file", lambda: table.frame(_PARTITION_ROWS, rows))
