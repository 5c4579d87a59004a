"""What the Checkpoint screen shows of a Flink job: its operators, its transactions, its other checkpoints."""

from __future__ import annotations

import streamlit as st

from offsetwise.console import blocks, guard, paging, table
from offsetwise.console.checkpoint import boxes, derived, flink_frames, sources
from offsetwise.console.checkpoint.questions import ReadingOf
from offsetwise.console.desk import Desk, Offered
from offsetwise.model import Checkpoint, Saved
from offsetwise.sources.spark_reading import CheckpointReading
from offsetwise.wording import duration, many, moment, number, size
from offsetwise.wording.verdicts import Tone


def draw(desk: Desk, migration: Offered, name: str, held: derived.Reading) -> None:
    """Draw everything below the restart and its banners."""
    shown = held.value.checkpoint
    _metrics(held.value)
    with guard.block("failure"):
        named = desk.held(ReadingOf(migration=migration.name, name=name))
        _failure(shown, None if named is None else named.value.checkpoint)
    sources.draw(held)
    _operators(shown)
    _transactions(shown)
    _retained(shown)


def _metrics(read: CheckpointReading) -> None:
    shown = read.checkpoint
    saved = shown.saved
    if saved is None:
        return
    written = saved.written_ms
    age = duration(None if written is None else read.read_at_ms - written)
    taken = sum(state.size_bytes for one in shown.operators for state in one.states)
    cards = (
        ((saved.kind or "kind not told").capitalize(), number(saved.id), "Its id: it grows by one with each."),
        ("Age", age, "Since its _metadata was written, as the file system says; a copy may be younger."),
        ("Partitions", number(sum(len(one.positions) + len(one.marked) for one in shown.sources)), "Of its sources."),
        ("Operators", number(len(shown.operators)), "Each is known by its uid or its hash."),
        ("State", size(taken), "Bytes of all states of all operators."),
        ("Open transactions", number(len(shown.transactions)), "Of the job's Kafka sinks, as they stood then."),
    )
    with st.container(horizontal=True):
        for label, value, help_ in cards:
            st.metric(label, value, border=True, help=help_)
    st.markdown(f":gray[{_told(saved)}]")


def _told(saved: Saved) -> str:
    """Say what a checkpoint tells of itself."""
    told = [f"Written **{moment(saved.written_ms)}**", f"format of _metadata **{saved.format_version}**"]
    if saved.format is not None:
        told.append(f"**{saved.format}** format")
    told.append("aligned" if saved.aligned else "**unaligned: it holds records in flight**")
    told.append("operator state compressed" if saved.compressed else "operator state not compressed")
    return " · ".join(told)


def _failure(shown: Checkpoint, named: Checkpoint | None) -> None:
    """Say what a job that goes on from here would read again."""
    st.subheader("What a failure would read again", anchor=False)
    if named is not None and named.uri != shown.uri:
        _further_back(shown, named)
        return
    if shown.saved is not None and shown.saved.kind == "savepoint":
        st.markdown(
            "A job that was **stopped with this savepoint** has read nothing after it: restoring reads nothing twice. "
            "If the job went on after taking it, everything read since is read again; the lag page shows how far the "
            "group's own offsets are ahead."
        )
        return
    st.markdown(
        "Everything read **after this checkpoint**: at most what comes in during one checkpoint interval, and until "
        "the next one completes. The state goes back with the offsets, and an exactly-once sink aborts what it had not "
        "committed; other sinks get those records twice."
    )


def _further_back(shown: Checkpoint, named: Checkpoint) -> None:
    rows = flink_frames.again_table(shown, named)
    again, back = rows["read again"], int((rows["read again"] < 0).sum())
    total = int(again.where(again > 0).sum())
    said = f"Starting here instead reads {many(total, 'record')} again in {many(int((again > 0).sum()), 'partition')}."
    boxes.draw(
        Tone.CAREFUL if total or back else Tone.RIGHT,
        f"**{said}** An exactly-once sink has committed their results already: it writes them twice."
        + (f" In {many(back, 'partition')} it stands further on." if back else ""),
    )
    paging.draw(rows, "again-rows", alt=said)


@st.fragment
def _operators(shown: Checkpoint) -> None:
    st.subheader("Operators", anchor=False)
    with guard.block("operators"):
        if not shown.operators:
            blocks.empty("It holds no operator.", "A checkpoint of a job that had finished is empty.")
            return
        said = f"{many(len(shown.operators), 'operator')} of the job."
        paging.draw(flink_frames.operator_table(shown.operators), "operator-rows", alt=said)
        st.markdown(
            ":gray[An operator without a uid is found by a hash of the job's graph: a changed job loses its state. "
            "`offsetwise inspect --uid NAME` says which hash a uid has.]"
        )
        states = flink_frames.state_table(shown.operators)
        if len(states):
            with st.expander(f"{many(len(states), 'state')} of these operators"):
                paging.draw(states, "operator-state-rows", alt="States by operator.", missing="–")


@st.fragment
def _transactions(shown: Checkpoint) -> None:
    st.subheader("Transactions of the sink", anchor=False)
    with guard.block("transactions"):
        if not shown.transactions:
            blocks.empty("No transaction is open in it.", "Only an exactly-once Kafka sink keeps transactions here.")
            return
        said = f"{many(len(shown.transactions), 'transaction')} held open by the job's Kafka sinks."
        paging.draw(flink_frames.transaction_table(shown), "transaction-rows", alt=said)
        st.markdown(
            ":gray[They belong to the cluster that the sink writes to, and can be committed there only, before its "
            "`transaction.timeout.ms` runs out.]"
        )


@st.fragment
def _retained(shown: Checkpoint) -> None:
    retained = () if shown.saved is None else shown.saved.retained
    if not retained:
        return
    st.subheader("Other retained checkpoints", anchor=False)
    with guard.block("retained"):
        said = f"{many(len(retained), 'other checkpoint')} of the job {'is' if len(retained) == 1 else 'are'} retained."
        table.plain(flink_frames.retained_table(retained), alt=said)
