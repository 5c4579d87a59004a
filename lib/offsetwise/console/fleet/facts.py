"""One checkpoint of a fleet: the way to its page if the migration names it, and its facts in place."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import blocks, table
from offsetwise.console.checkpoint.frames import position_table, state_table
from offsetwise.console.desk import Held, Subject, SubjectKind
from offsetwise.console.escaping import markdown, plain
from offsetwise.console.explained import linked
from offsetwise.console.fleet import derived, sentences
from offsetwise.fleet import Fleet, FleetRow, severity_of
from offsetwise.model import Checkpoint
from offsetwise.sources.spark_checkpoint_rows import FailedCheckpoint
from offsetwise.wording import many, moment, number, verdicts

CHECKPOINT_PAGE: Final = "pages/explore/checkpoint.py"
MAX_POSITIONS: Final = 250
MAX_ALIKE: Final = 5


def draw(held: Held[Fleet], row: FleetRow, migration: str) -> None:
    """Draw the facts of one row."""
    label = derived.facts(held).labels[row.uri]
    verdict = sentences.VERDICTS[row.verdict]
    st.subheader(f"Facts · {markdown(label)}", anchor=False)
    st.markdown(f":{verdict.tone.colour}-badge[{verdict}] {markdown(sentences.MEANING[row.verdict])}")
    _links(row, migration)
    st.code(plain(row.uri), language=None, wrap_lines=True)
    if isinstance(row.read, FailedCheckpoint):
        _failed(row.read)
        return
    st.markdown(f"**{markdown(row.read.restart)}**")
    _problems(row.read)
    _alike(held, row)
    _numbers(held, row, row.read)
    _positions(row.read)
    if row.read.state:
        with st.expander("State, by operator"):
            table.plain(state_table(row.read.state))


def _links(row: FleetRow, migration: str) -> None:
    if not row.names:
        st.markdown(
            ":gray[The migration file does not name it. Name it under `checkpoints` to compare it and to look into "
            "its batches.]"
        )
        return
    with st.container(horizontal=True):
        for name in row.names:
            st.page_link(
                Path(CHECKPOINT_PAGE),
                label=f"Open {markdown(name)}",
                icon=":material/save:",
                query_params={
                    "migration": migration,
                    "of": str(Subject(kind=SubjectKind.CHECKPOINT, name=name)),
                },
            )


def _failed(failed: FailedCheckpoint) -> None:
    with st.container(border=True):
        st.markdown(f"**This checkpoint could not be read**  \n{markdown(failed.problem)}")
        st.markdown(f"**What to do:** {markdown(failed.fix)}")
        st.markdown(f":gray[In downloads: {markdown(failed.error)}.]")


def _problems(checkpoint: Checkpoint) -> None:
    for problem in checkpoint.problems:
        verdict = verdicts.SEVERITY[severity_of(problem.code)]
        with st.container(border=True):
            remedy = f"  \n**What to do:** {markdown(problem.fix)}" if problem.fix else ""
            st.markdown(
                f":{verdict.tone.colour}-badge[{verdict}] **{linked(problem.code)}**  \n"
                f"{markdown(problem.message)}{remedy}"
            )


def _alike(held: Held[Fleet], row: FleetRow) -> None:
    if row.same_query == 1 or row.checkpoint is None:
        return
    labels, job_id = derived.facts(held).labels, row.checkpoint.job_id
    others = [
        one.uri
        for one in held.value.rows
        if one is not row and one.checkpoint is not None and one.checkpoint.job_id == job_id
    ]
    named = ", ".join(f"**{markdown(labels[uri])}**" for uri in others[:MAX_ALIKE])
    more = f", and {number(len(others) - MAX_ALIKE)} more" if len(others) > MAX_ALIKE else ""
    with st.container(border=True):
        st.markdown(
            f":orange-badge[▲ copies] {named}{more} {'carries' if len(others) == 1 else 'carry'} the same query id. "
            "A sink that remembers batches by query id, as Delta does, takes the batches of one for those of the "
            "other: start a job from one of them only."
        )


def _numbers(held: Held[Fleet], row: FleetRow, checkpoint: Checkpoint) -> None:
    now = derived.now_ms(held)
    end = f"{_topics(row)}; state: {sentences.size(row.state_bytes)}; engine {markdown(checkpoint.engine)}."
    if checkpoint.saved is not None:
        saved = checkpoint.saved
        age = sentences.age(sentences.age_ms(saved.written_ms, now))
        st.markdown(
            f"{(saved.kind or 'checkpoint').capitalize()} **{number(saved.id)}**, written {moment(saved.written_ms)} "
            f"({age} before this was read). {end}"
        )
        return
    planned, committed = (sentences.age(sentences.age_ms(at, now)) for at in (row.planned_at_ms, row.committed_at_ms))
    st.markdown(
        f"Batch **{number(checkpoint.last_planned_batch)}** is the newest planned one, from "
        f"{moment(row.planned_at_ms)} ({planned} before this was read). Batch "
        f"**{number(checkpoint.last_committed_batch)}** is the newest committed one, planned at "
        f"{moment(row.committed_at_ms)} ({committed} before). {end}"
    )
    if checkpoint.job_id is not None:
        st.markdown("Query id")
        st.code(plain(checkpoint.job_id), language=None, wrap_lines=True)


def _topics(row: FleetRow) -> str:
    if row.partitions is None:
        return "Topics: ?"
    return f"{many(len(row.topics), 'topic')} with {many(row.partitions, 'partition')}"


def _positions(checkpoint: Checkpoint) -> None:
    positions = position_table(checkpoint)
    if positions.empty:
        blocks.empty("No Kafka position.", "It has no Kafka source, or its positions cannot be relied on.")
        return
    with st.expander(f"Positions: {many(len(positions), 'partition')}", expanded=len(positions) <= 12):
        if len(positions) > MAX_POSITIONS:
            st.markdown(f":gray[The first {number(MAX_POSITIONS)}. The downloads hold all.]")
        table.plain(positions.head(MAX_POSITIONS), missing="–")
