from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st

from offsetwise import wording
from offsetwise.console.answers import Answers, Question
from offsetwise.console.explore.checkpoint import sources, transactions
from offsetwise.console.plan import decided
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, layout, table
from offsetwise.console.widgets.blocks import Card, counted
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.engines.engine import CheckpointReading
from offsetwise.model import Checkpoint, RetainedCheckpoint, SourcePosition
from offsetwise.plugins.flink.engine.details import Operator, OperatorState, Saved, flink_details
from offsetwise.position import offset_of
from offsetwise.wording import clock, duration, many, number, size
from offsetwise.wording.verdicts import Tone

_OPERATORS: Final[Columns[Operator]] = (
    Column("operator", lambda operator: operator.name or "(not named)"),
    Column("uid", lambda operator: operator.uid or "–", help="Without one, the id comes from the job's graph."),
    Column("parallelism", lambda operator: operator.parallelism),
    Column(
        "most",
        lambda operator: operator.max_parallelism,
        help="The largest parallelism that the state can be restored with.",
        heading="maximum parallelism",
    ),
    Column("states", lambda operator: len(operator.states)),
    Column("state", lambda operator: wording.size(sum(state.size_bytes for state in operator.states))),
    Column("finished", lambda operator: "yes" if operator.finished else "no"),
    Column("id (hash)", lambda operator: operator.id),
)
_STATES: Final[Columns[tuple[Operator, OperatorState]]] = (
    Column("operator", lambda row: row[0].name or row[0].uid or row[0].id),
    Column("state", lambda row: row[1].name),
    Column("kind", lambda row: row[1].kind),
    Column("elements", lambda row: row[1].elements),
    Column("bytes", lambda row: row[1].size_bytes),
    Column("where", lambda row: ", ".join(row[1].places)),
)
_RETAINED: Final[Columns[RetainedCheckpoint]] = (
    Column("checkpoint", lambda checkpoint: checkpoint.id),
    Column("file dated (UTC)", lambda checkpoint: Time(checkpoint.written_ms)),
    Column("folder", lambda checkpoint: checkpoint.uri),
)
_APART: Final[Columns[tuple[SourcePosition, int]]] = (
    Column("topic", lambda row: row[0].topic),
    table.partition(lambda row: row[0].partition),
    Column("continues at", lambda row: row[0].offset),
    Column("the named one at", lambda row: row[1]),
    Column("read again", lambda row: row[1] - row[0].offset, help="Negative where this one is further on."),
)


_OF_FILE: Final = "Since the time that the file system has for its _metadata; a copy is younger than what it copies."
_OF_RECORDING: Final = "Since it was written, as the recording says."


def draw(answers: Answers, migration: Offered, name: str, reading: sources.Reading) -> None:
    shown = reading.value.checkpoint
    _metrics(reading.value, recorded=migration.recorded)
    operators = {
        operator.id: operator.name or operator.uid or operator.id for operator in flink_details(shown).operators
    }
    parts: dict[str, Callable[[], None]] = {
        "Restart": partial(_restart, answers, migration, name, shown),
        "Sources": partial(sources.draw, reading),
        "Operators": partial(_operators, shown),
        decided.TITLE: partial(transactions.draw, answers, migration, name, shown, operators=operators),
    }
    if shown.details.retained:
        parts["Other checkpoints"] = partial(_retained, shown)
    layout.tabs(parts)


def _restart(answers: Answers, migration: Offered, name: str, shown: Checkpoint) -> None:
    with guard.block("failure"):
        named = answers.cached(Question.of(Reader.checkpoint_reading, migration.name, name, None))
        _failure(shown, None if named is None else named.value.checkpoint)


def facts(read: Checkpoint) -> None:
    """Draw nothing: the Fleet screen has no part for Flink."""


def _metrics(read: CheckpointReading, *, recorded: bool) -> None:
    shown = read.checkpoint
    details = flink_details(shown)
    saved = details.saved
    written = saved.written_ms
    age = duration(None if written is None else read.read_at_ms - written)
    blocks.cards(
        (
            Card((saved.kind or "kind unknown").capitalize(), number(saved.id), "Its id: it grows by one with each."),
            Card("Age" if recorded else "File age", age, _OF_RECORDING if recorded else _OF_FILE),
            Card(
                "Partitions",
                number(sum(len(source.positions) + len(source.marked) for source in shown.sources)),
                "Of its sources.",
            ),
            Card("Operators", number(len(details.operators)), "Each is known by its uid or its hash."),
            Card("State", size(details.state_bytes), "Bytes of all states of all operators."),
            counted(
                "Open transactions",
                len(shown.details.transactions),
                "Of the job's Kafka sinks, as they stood then.",
                Tone.CAREFUL,
            ),
        )
    )
    st.markdown(f":gray[{_facts(saved, recorded=recorded)}]")


def _facts(saved: Saved, *, recorded: bool = False) -> str:
    dated = "Recorded as written" if recorded else "File dated"
    sentences = [f"{dated} **{clock(saved.written_ms)}**", f"format of _metadata **{saved.format_version}**"]
    if saved.format is not None:
        sentences.append(f"**{saved.format}** format")
    sentences.append("aligned" if saved.aligned else "**unaligned: it holds records in flight**")
    sentences.append("operator state compressed" if saved.compressed else "operator state not compressed")
    return " · ".join(sentences)


def _failure(shown: Checkpoint, named: Checkpoint | None) -> None:
    blocks.section("What a failure would read again")
    if named is not None and named.uri != shown.uri:
        _further_back(shown, named)
        return
    if shown.details.kind == "savepoint":
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
    rows = apart(shown, named)
    ahead = [end - offset_of(at.offset) for at, end in rows if end > at.offset]
    total, behind_count = sum(ahead), sum(end < at.offset for at, end in rows)
    said = f"Starting here instead reads {many(total, 'record')} again in {many(len(ahead), 'partition')}."
    blocks.box(
        Tone.CAREFUL if total or behind_count else Tone.RIGHT,
        f"**{said}** An exactly-once sink has committed their results already: it writes them twice."
        + (f" In {many(behind_count, 'partition')} it is further on." if behind_count else ""),
    )
    table.paged(_APART, rows, "again-rows", alt=said)


@st.fragment
def _operators(shown: Checkpoint) -> None:
    blocks.section("Operators")
    with guard.block("operators"):
        operators = flink_details(shown).operators
        if not operators:
            blocks.empty("It holds no operator.", "A checkpoint of a job that had finished is empty.")
            return
        said = f"{many(len(operators), 'operator')} of the job."
        table.paged(_OPERATORS, operators, "operator-rows", alt=said)
        st.markdown(
            ":gray[An operator without a uid is found by a hash of the job's graph: a changed job loses its state. "
            "`offsetwise inspect --uid NAME` says which hash a uid has.]"
        )
        states = [(operator, state) for operator in operators for state in operator.states]
        if states:
            with st.expander(f"{many(len(states), 'state')} of these operators"):
                table.paged(_STATES, states, "operator-state-rows", alt="States by operator.", missing="–")


@st.fragment
def _retained(shown: Checkpoint) -> None:
    retained = shown.details.retained
    if not retained:
        return
    blocks.section("Other retained checkpoints")
    with guard.block("retained"):
        said = f"{many(len(retained), 'other checkpoint')} of the job {'is' if len(retained) == 1 else 'are'} retained."
        table.show(_RETAINED, retained, alt=said)


def apart(earlier: Checkpoint, later: Checkpoint) -> list[tuple[SourcePosition, int]]:
    """Return every partition that both checkpoints of a job have, in the earlier's order, and its later offset."""
    ends = {(source.id, at.topic, at.partition): at.offset for source in later.sources for at in source.positions}
    return [
        (at, offset_of(ends[source.id, at.topic, at.partition]))
        for source in earlier.sources
        for at in source.positions
        if (source.id, at.topic, at.partition) in ends
    ]
