"""The Fleet screen: the answer, the numbers, the map, the table, and the facts of the selected checkpoint."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import streamlit as st

from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.engine_screens import screen_of
from offsetwise.console.explore.checkpoint.screen import beside_restart
from offsetwise.console.explore.checkpoint.sources import resumed, resumes
from offsetwise.console.operate import fleet_chart, fleet_files, fleet_table
from offsetwise.console.operate.fleet_table import now_ms
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, layout, palette, table, terms
from offsetwise.console.widgets.blocks import Card, counted
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.evidence import linked
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.shards import SHARDS, Shards
from offsetwise.console.widgets.table import Selection
from offsetwise.engines.registry import engine_of
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.findings import severity_of, worded
from offsetwise.fleets import Fleet, FleetRow, FleetVerdict
from offsetwise.model import Checkpoint, Subject, SubjectKind
from offsetwise.wording import clock, many, number, part, read_at, verdicts
from offsetwise.wording.verdicts import Tone

CHECKPOINT_PAGE: Final = "pages/explore/checkpoint.py"
MAX_POSITIONS: Final = 250
MAX_ALIKE: Final = 5


def fleet(answers: Answers, migration: Offered, head: guard.Head) -> CachedAnswer[Fleet] | None:
    """Return the fleet to show; a live one only if it is in memory or a person asks for it."""
    question = Question.of(Reader.fleet, migration.name)
    head.context(_caption(migration, answers.cached(question)))
    offer = blocks.Offer(
        what=f"the checkpoints of {markdown(migration.name)}",
        why=(
            "Reads every checkpoint below the `checkpoint_roots` of the migration file, and those it names: the few "
            "files of each that decide the restart. Many are read on Spark. Asks no cluster, writes nothing."
        ),
        now="Read all checkpoints",
        again="Read again",
        icon=":material/folder_copy:",
        key="fleet",
        stop="Stop reading",
    )
    result = blocks.live(answers, question, offer, actions=head.actions)
    head.context(_caption(migration, result))
    return result


def _caption(migration: Offered, answer: CachedAnswer[Fleet] | None) -> str:
    clusters = blocks.clusters(migration.old, migration.new)
    if answer is None:
        return f"{clusters} · not read yet"
    roots = answer.value.roots
    where = f"below {many(len(roots), 'root')}" if roots else "no `checkpoint_roots` named"
    if len(roots) == 1:
        where = f"below **{markdown(roots[0])}**"
    read = markdown(read_at(answer.at.isoformat(), datetime.now(UTC)))
    return f"{clusters} · {where} · {read}"


def draw(answer: CachedAnswer[Fleet], migration: Offered) -> None:
    shown, colours = answer.value, palette.current()
    _troubles(shown)
    if not shown.rows:
        blocks.empty(
            "No checkpoint was found.",
            f"{many(shown.folders, 'folder')} looked into. Name the folders that hold checkpoints under "
            "`checkpoint_roots` in the migration file, at most four levels above them; or look at one yourself.",
            "offsetwise inspect FOLDER",
        )
        return
    _answer(answer)
    _metrics(answer)
    if len(shown.rows) >= fleet_chart.MIN_ROWS:
        _map(answer, colours)
    _rows(answer, migration, colours)


def _troubles(shown: Fleet) -> None:
    for trouble in shown.troubles:
        st.warning(
            f"**A root is not here, or not whole**  \n{sentence(trouble.problem)}  \n"
            f"**What to do:** {sentence(trouble.fix)}",
            icon=":material/folder_off:",
        )


def _answer(answer: CachedAnswer[Fleet]) -> None:
    tone, head, rest = fleet_table.facts(answer).answer
    longest = f"The longest time without a batch or checkpoint is {fleet_table.facts(answer).longest}."
    blocks.box(tone, f"**{head}** {markdown(rest)} {markdown(longest)}")


def _metrics(answer: CachedAnswer[Fleet]) -> None:
    known = fleet_table.facts(answer)
    blocks.cards(
        (
            Card(
                "Checkpoints",
                number(len(answer.value.rows)),
                "Those the migration file names, and those found below roots.",
            ),
            *(
                counted(
                    _title(verdict),
                    known.counts[verdict],
                    fleet_table.MEANING[verdict],
                    fleet_table.VERDICTS[verdict].tone,
                )
                for verdict in FleetVerdict
            ),
            counted(
                "Warned",
                known.warned,
                "Those that can be restarted and have a problem that warns: the column problems names it.",
                Tone.CAREFUL,
            ),
            Card("Copies", number(known.copies), "Checkpoints whose query id another one carries too."),
        )
    )


def _title(verdict: FleetVerdict) -> str:
    return ("blocked" if verdict is FleetVerdict.PROBLEMS else verdict.value).capitalize()


def _map(answer: CachedAnswer[Fleet], colours: Palette) -> None:
    with guard.block("map"):
        st.header("How long without a batch", anchor=False)
        figure, takeaway = age_map(answer, colours)
        st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=takeaway, key="ages", theme=None)
        with st.expander("Data"):
            table.draw(age_table(answer, colours))


@st.fragment
def _rows(answer: CachedAnswer[Fleet], migration: Offered, colours: Palette) -> None:
    st.header("Every checkpoint", anchor=False)
    with guard.block("rows"):
        known = fleet_table.facts(answer)
        shown = fleet_table.filtered(answer, fleet_table.filters(known.codes, known.topics))
        if not shown:
            blocks.empty("No checkpoint passes these filters.", "Clear a filter to see more.")
            return
        generator, right = layout.two_columns("facts")
        with generator:
            row = choose(answer, shown, colours)
        with right:
            _facts_of(answer, row, migration)


def choose(answer: CachedAnswer[Fleet], rows: tuple[FleetRow, ...], colours: Palette) -> FleetRow:
    span = table.page(len(rows))
    page = rows[span]
    labels = fleet_table.facts(answer).labels
    ids = tuple(labels[row.uri] for row in page)
    selection = Selection(key="row", grid=f"fleet-{answer.id}-{span.start}-{abs(hash(ids))}", names=ids, first=0)
    selection.draw(
        fleet_table.fleet_table(answer, page, colours),
        alt=f"{many(len(page), 'checkpoint')} with verdict, age, problems, batches, topics, state and restart.",
    )
    _downloads(answer, rows)
    return page[selection.choose("Facts of", width=420)]


def _downloads(answer: CachedAnswer[Fleet], rows: tuple[FleetRow, ...]) -> None:
    now = fleet_table.now_ms(answer)
    with downloads.to_the_right_of(
        f":gray[{part(len(rows), len(answer.value.rows), 'checkpoint')}. Select a row to see its facts.]"
    ):
        downloads.button(
            "CSV", "fleet.csv", lambda: fleet_files.csv(rows, now), key="download-CSV", says="The rows shown, as CSV."
        )
        downloads.button(
            "JSON",
            "fleet.jsonl",
            lambda: fleet_files.json_lines(rows),
            key="download-JSON",
            says="The rows shown, as JSON lines: a checkpoint a line.",
        )


def _facts_of(answer: CachedAnswer[Fleet], row: FleetRow, migration: Offered) -> None:
    label = fleet_table.facts(answer).labels[row.uri]
    verdict = fleet_table.VERDICTS[row.verdict]
    st.header(f"Facts · {markdown(label)}", anchor=False)
    # Why a checkpoint is unreadable is in the box below.
    message = "" if isinstance(row.read, FailedCheckpoint) else f"**{sentence(row.read.restart)}**"
    st.markdown(f":{verdict.tone.colour}-badge[{verdict}] {message}")
    _links(row, migration.name)
    st.code(plain(row.uri), language=None, wrap_lines=True)
    if isinstance(row.read, FailedCheckpoint):
        _failed(row.read)
        return
    _problems(row.read)
    _alike(answer, row)
    _numbers(answer, row, row.read, recorded=migration.recorded and bool(row.names))
    _positions(row.read)
    screen_of(row.read.engine).facts(row.read)


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
        st.markdown(f"**This checkpoint could not be read**  \n{sentence(failed.problem)}")
        st.markdown(f"**What to do:** {sentence(failed.fix)}")


def _problems(checkpoint: Checkpoint) -> None:
    for raw in checkpoint.problems:
        # The restart sentence is above.
        problem = worded(replace(raw, message=beside_restart(raw, checkpoint.restart)), terms.shown())
        verdict = verdicts.SEVERITY[severity_of(problem.code)]
        with st.container(border=True):
            remedy = f"  \n**What to do:** {sentence(problem.fix)}" if problem.fix else ""
            st.markdown(
                f":{verdict.tone.colour}-badge[{verdict}] **{linked(problem.code)}**  \n"
                f"{sentence(problem.message)}{remedy}"
            )


def _alike(answer: CachedAnswer[Fleet], row: FleetRow) -> None:
    if row.same_query == 1 or row.checkpoint is None:
        return
    labels, job_id = fleet_table.facts(answer).labels, row.checkpoint.job_id
    others = [
        fleet_row.uri
        for fleet_row in answer.value.rows
        if fleet_row is not row and fleet_row.checkpoint is not None and fleet_row.checkpoint.job_id == job_id
    ]
    named = ", ".join(f"**{markdown(labels[uri])}**" for uri in others[:MAX_ALIKE])
    more = f", and {number(len(others) - MAX_ALIKE)} more" if len(others) > MAX_ALIKE else ""
    with st.container(border=True):
        st.markdown(
            f":orange-badge[▲ copies] {named}{more} {'carries' if len(others) == 1 else 'carry'} the same query id. "
            "A sink that remembers batches by query id, as Delta does, takes the batches of one for those of the "
            "other: start a job from one of them only."
        )


def _numbers(answer: CachedAnswer[Fleet], row: FleetRow, checkpoint: Checkpoint, *, recorded: bool) -> None:
    now = fleet_table.now_ms(answer)
    end = f"{_topics(row)}; state: {fleet_table.size(row.state_bytes)}; engine {markdown(checkpoint.engine)}."
    if not engine_of(checkpoint.engine).plans_batches:
        details = checkpoint.details
        age = fleet_table.age(fleet_table.age_ms(details.written_ms, now))
        dated = "recorded as written" if recorded else "file dated"
        label = markdown((details.words or (details.kind,))[0].capitalize())
        st.markdown(f"**{label}**, {dated} {clock(details.written_ms)} ({age} before this was read). {end}")
        return
    planned, committed = (
        fleet_table.age(fleet_table.age_ms(at, now)) for at in (row.planned_at_ms, row.committed_at_ms)
    )
    st.markdown(
        f"Batch **{number(checkpoint.details.progress.planned)}** is the newest planned one, from "
        f"{clock(row.planned_at_ms)} ({planned} before this was read). Batch "
        f"**{number(checkpoint.details.progress.committed)}** is the newest committed one, planned at "
        f"{clock(row.committed_at_ms)} ({committed} before). {end}"
    )
    if checkpoint.job_id is not None:
        st.markdown("Query id")
        st.code(plain(checkpoint.job_id), language=None, wrap_lines=True)


def _topics(row: FleetRow) -> str:
    if row.partitions is None:
        return "Topics: ?"
    return terms.said(f"{many(len(row.topics), 'topic')} with {many(row.partitions, 'partition')}")


def _positions(checkpoint: Checkpoint) -> None:
    positions, shards = resumed(checkpoint), Shards(checkpoint)
    if shards:
        with st.expander(f"Positions: {many(len(shards), 'shard')}", expanded=len(shards) <= 12):
            table.paged(SHARDS, shards, "shards", alt="Positions of the checkpoint by shard.", missing="–")
    if not positions:
        if not shards:
            blocks.empty("No position.", "It has no source that can be compared, or its positions cannot be relied on.")
        return
    with st.expander(f"Positions: {many(len(positions), 'partition')}", expanded=len(positions) <= 12):
        if len(positions) > MAX_POSITIONS:
            st.markdown(f":gray[The first {number(MAX_POSITIONS)}. The downloads hold all.]")
        table.show(resumes(checkpoint), positions[:MAX_POSITIONS], missing="–")


@cached(8)
def age_table(answer: CachedAnswer[Fleet], colours: Palette) -> table.Prepared:
    return table.prepared(fleet_chart.age_columns(answer.value.rows, now_ms(answer)), fleet_chart.SINCE, colours)


@cached(8)
def age_map(answer: CachedAnswer[Fleet], colours: Palette) -> tuple[Any, str]:
    rows, now = answer.value.rows, now_ms(answer)
    return fleet_chart.age_map(rows, colours, now), fleet_chart.takeaway(rows, now)
