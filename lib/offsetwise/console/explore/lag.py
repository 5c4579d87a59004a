"""The Lag screen: what was left to read on both clusters over time, from own samples, and what that means."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise import files
from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.explore import lag_charts, lag_sampling, lag_tables
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, layout, palette, selectors, table, terms
from offsetwise.console.widgets.blocks import Card
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.console.widgets.evidence import findings
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Columns, Row, Selection
from offsetwise.lag.amounts import drift, in_time, lag, totals
from offsetwise.lag.proven import Proven, partition_from, proven_of, view_from
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import Cluster, LagPartition, Subject
from offsetwise.position import Position
from offsetwise.wording import duration, many, number, part, signed
from offsetwise.wording.time_lag import lag_text, quota
from offsetwise.wording.verdicts import METHOD, Tone

_WINDOWS: Final = {
    "15 min": 15 * 60_000,
    "1 h": 3_600_000,
    "6 h": 6 * 3_600_000,
    "24 h": 24 * 3_600_000,
    "7 days": 7 * 24 * 3_600_000,
    "30 days": 30 * 24 * 3_600_000,
}
_REFRESH: Final = {"Off": None, "10 s": 10, "30 s": 30, "60 s": 60}
_EVERY: Final = "refresh"
_PATIENCE_S: Final = 2.0
"""How long a page waits for the store before it shows that it waits."""
_LEFT: Final = "What is left to read"
_TABLE: Final = "Every partition, newest sample"
_ONE: Final = "One partition over time"
_WORST: Final = "Worst first"
_BY_NAME: Final = "By name"
_SHOWN: Final = 50
"""Rows sent with every rerun although the table is collapsed."""


def draw(answers: Answers, migration: Offered, subject: Subject, head: guard.Head) -> None:
    head.context(blocks.clusters(migration.old, migration.new))
    chosen = st.session_state.get(_EVERY, st.query_params.get(_EVERY))
    refresh = None if migration.recorded else _REFRESH.get(chosen)
    st.fragment(_body, run_every=refresh)(answers, migration, subject, refresh)


def _body(answers: Answers, migration: Offered, subject: Subject, refresh: int | None) -> None:
    window_ms, generator, again = _controls(answers, migration, refresh)
    question = Question.of(Reader.lag, migration.name, subject, window_ms)
    with guard.block("lag"):
        _refreshed(answers, question, refresh)
        answer = blocks.live(answers, question, _offer(), actions=again)
        if answer is None:
            return
        if answer.value is not None and migration.recorded:
            with generator:
                lag_sampling.recorded(migration)
        _read(answers, migration, subject, window_ms, answer)


def _controls(answers: Answers, migration: Offered, refresh: int | None) -> tuple[int, DeltaGenerator, DeltaGenerator]:
    """Draw, in one row, the choice of samples and the sampler.

    Returns:
        The window in milliseconds; the containers for the description of the samples and for the button that reads
            again.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        window = selectors.choice("Show the last", list(_WINDOWS), "window", default="1 h", width=110)
        if (
            not migration.recorded
            and _REFRESH[selectors.choice("Refresh", list(_REFRESH), _EVERY, width=90)] != refresh
        ):
            st.rerun()  # a fragment reruns at the interval set when the whole page was drawn
        generator, again = st.container(width="stretch", key=layout.ROW), st.container(width="content")
    if not migration.recorded:
        with guard.block("sampling"):
            lag_sampling.draw(answers, migration, generator)
    return _WINDOWS[window], generator, again


def _read(answers: Answers, migration: Offered, subject: Subject, window_ms: int, answer: lag_tables.Shown) -> None:
    claimed = answer.value
    if claimed is None:
        _no_sample(migration, subject)
        return
    compared = answers.cached(Question.of(Reader.comparison, migration.name, subject))
    proven = proven_of(None if compared is None else compared.value)
    view = view_from(claimed, proven)
    if compared is not None:  # derived values are cached by the id
        answer = CachedAnswer(id=hash((answer.id, compared.id)), at=answer.at, value=view)
    _samples(migration, view, claimed)
    partitions, total = st.tabs([terms.said(_TABLE), terms.said(_LEFT)])
    with total:
        _totals(answer, view)
    with partitions:
        selection = choose(answer, view, palette.current(), claimed)
    if selection is None:
        return
    chosen, right = selection
    question = Question.of(
        Reader.lag_of_partition, migration.name, subject, window_ms, chosen.key, edition=view.newest.id
    )
    with right, guard.block("partition"):
        edition = 0 if compared is None else compared.id
        _partition(answers, question, str(chosen.topic_partition), proven, edition=edition)


def _refreshed(answers: Answers, question: Question[LagView | None], refresh: int | None) -> None:
    """Read again if due; wait briefly, so that nothing flickers if the store answers soon.

    A mere rerun reads nothing.
    """
    answer = answers.cached(question)
    first = answer is None and answers.reading(question) is None
    due = (
        refresh is not None and answer is not None and (datetime.now(UTC) - answer.at).total_seconds() >= refresh * 0.9
    )
    if (first or due) and not answers.recorded(question):
        wait([answers.read(question).outcome], _PATIENCE_S)


def _offer() -> blocks.Offer:
    return blocks.Offer(
        what="the samples",
        why="Looks the samples up in the store. No cluster is asked.",
        now="Read the samples",
        again="Read again",
        icon=":material/show_chart:",
        key="lag",
        at_once=True,
    )


def _no_sample(migration: Offered, subject: Subject) -> None:
    if migration.recorded:
        blocks.empty(
            "This recording has no samples.",
            "Lag over time is sampled where the clusters can be asked: with the migration's own file.",
        )
        return
    blocks.empty(
        "No sample was taken yet.",
        "Start sampling above, or leave this command running beside the console; both keep samples in the same store.",
        lag_tables.command("migration.yaml", str(subject)),
    )


def _samples(migration: Offered, view: LagView, claimed: LagView) -> None:
    """Draw the numbers of the newest sample, and what the samples show.

    Args:
        migration: The migration.
        view: The samples, the newest counted from the proven positions if a comparison has them.
        claimed: The samples as they were stored, counted from the positions that the mirror claims.
    """
    now = datetime.now(UTC)
    sample = view.newest.sample
    st.markdown(f":gray[{lag_tables.newest(view, now)}]")
    if not migration.recorded and lag_tables.overdue(sample, now):
        st.info("**The next sample is overdue.** Nobody seems to sample any more.", icon=":material/schedule:")
    for missing_part in sample.missing:
        st.warning(
            f"{lag_tables.missing(missing_part)}  \n**What to do:** {sentence(missing_part.fix)}",
            icon=":material/cloud_off:",
        )
    _cards(view, claimed)
    if view.alerts:
        with st.expander(f"What the samples show ({len(view.alerts):,})", expanded=len(view.alerts) == 1):
            findings([alert.finding for alert in view.alerts])


def _totals(answer: lag_tables.Shown, view: LagView) -> None:
    blocks.section(_LEFT)
    timed = bool(view.points[-1].furthest)
    st.markdown(
        terms.said(
            ":gray[Of the partition that is furthest behind, as the stream says at its position. ● old, solid · "
            "◆ new, dotted. Where a sample is missing, or nothing was said, the line breaks.]"
        )
        if timed
        else ":gray[All partitions added up, signed: below 0 is past the end. ● old, solid · ◆ new, dotted. "
        "Where a sample is missing, or lacks a cluster, the line breaks. The line on new counts from the position that "
        "the mirror claimed at each moment, often a little early. Cards and table count from the proven positions that "
        "Compare holds.]"
    )
    figure = lag_charts.totals_chart(answer, view, palette.current())
    said = lag_tables.takeaway(view.points)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=said, key="lag-totals", theme=None)
    _moments(lag_tables.TOTALS, view.points[::-1], "lag-totals", alt=said)
    if view.newest.sample.quota is not None:
        st.markdown(f":gray[{quota(view.newest.sample.quota)}]")


def _cards(view: LagView, claimed: LagView) -> None:
    sample, point = view.newest.sample, view.points[-1]
    summed = totals(sample)
    cards = [
        Card(
            f"{lag_tables.MARK[side]} Behind on {side}",
            duration(None if worst is None else worst.ms),
            tone=Tone.UNKNOWN if worst is None else None,
            note=lag_tables.furthest_note(worst),
        )
        for side, worst in point.furthest.items()
    ] or [
        Card(
            f"{lag_tables.MARK[side]} Lag on {side}",
            lag_tables.total(summed.lag(side)),
            tone=lag_tables.tone(summed.lag(side)),
            note=lag_tables.total_note(summed.lag(side)) or lag_tables.counted_from(side, view, claimed),
        )
        for side in Cluster
    ]
    for name, total in zip(sample.groups, summed.drift, strict=True):
        if name != sample.group:
            note = f":gray[against the positions, in {many(total.known, 'partition')}; negative: behind]"
            cards.append(Card(f"Drift of {markdown(name)}", signed(total.net), note=note))
    blocks.cards(cards)


def choose(
    answer: lag_tables.Shown, view: LagView, colours: Palette, claimed: LagView
) -> tuple[LagPartition, DeltaGenerator] | None:
    """Draw the table with its filters and downloads, and the choice of one partition.

    Returns:
        The partition, and the column next to the table; None if the filters leave no partition.
    """
    with st.container(horizontal=True):
        topics = selectors.several("Topic", "lag-topic", lag_tables.topics(answer, view))
        order = selectors.choice("Order", [_WORST, _BY_NAME], "lag-order", width=160)
    rows = lag_tables.rows(answer, view, topics, worst_first=order == _WORST)
    if not rows:
        blocks.empty(terms.said("No partition to show."), "The sample holds none, or the filter passes none.")
        return None
    generator, right = layout.two_columns("lag")
    with generator:
        return _chosen(answer, view, rows, colours, claimed), right


def _chosen(
    answer: lag_tables.Shown, view: LagView, rows: tuple[LagPartition, ...], colours: Palette, claimed: LagView
) -> LagPartition:
    sample = view.newest.sample
    page = rows[table.page(len(rows))]
    names = selectors.row_names(page, among=sample.partitions)
    selection = Selection(key="lag-row", grid=f"lag-{answer.id}-{abs(hash(names))}", names=names, first=0)
    selection.draw(
        lag_tables.partition_table(answer, view, page, colours, claimed),
        alt=f"{many(len(page), terms.said('partition'))} with position and lag on both clusters.",
    )
    with downloads.to_the_right_of(
        f":gray[{part(len(rows), len(sample.partitions), terms.said('partition'))}. "
        f"{'' if in_time(sample) else 'A negative lag is past the end. '}Select a row to see it over time.]"
    ):
        downloads.button(
            "CSV",
            "lag.csv",
            lambda: downloads.csv(
                table.frame(
                    lag_tables.partitions(sample, claimed.newest.sample, groups=len(sample.groups)), rows, file=True
                )
            ),
            key="lag-csv",
            says="The rows shown, as CSV.",
        )
        downloads.button(
            "JSON",
            "lag.json",
            lambda: files.dump(replace(sample, partitions=rows)).encode(),
            key="lag-json",
            says="The newest sample with the rows shown, as an offsetwise/lag-sample file.",
        )
    return page[selection.choose("Partition over time", width=320)]


def _partition(
    answers: Answers, question: Question[PartitionView | None], name: str, proven: Proven, *, edition: int
) -> None:
    blocks.section(_ONE, shown=f"{markdown(name)} over time")
    if answers.cached(question) is None and answers.reading(question) is None:
        wait([answers.read(question).outcome], _PATIENCE_S)
    answer = answers.cached(question)
    if answer is None:
        offer = blocks.Offer(
            what=terms.said("the samples of this partition"),
            why="Looks its samples up in the store. No cluster is asked.",
            now="Read its samples",
            again="Read its samples again",
            icon=":material/show_chart:",
            key="partition-lag",
            at_once=True,
        )
        answer = blocks.live(answers, question, offer)
    claimed = None if answer is None else answer.value
    shown = None if claimed is None else partition_from(claimed, proven)
    row = None if shown is None else shown.row
    if answer is None or claimed is None or shown is None or row is None:
        return
    answer = CachedAnswer(id=hash((answer.id, edition)), at=answer.at, value=shown)
    colours = palette.current()
    newest = shown.history[-1].sample
    figure = lag_charts.lag_chart(answer, shown, colours)
    st.plotly_chart(
        figure,
        config=blocks.CHART_OPTIONS,
        alt=lag_tables.partition_takeaway(shown),
        key="lag-of-partition",
        theme=None,
    )
    generator, right = st.columns(2)
    for side, column in ((Cluster.OLD, generator), (Cluster.NEW, right)):
        with column:
            _facts(shown, row, side, claim=None if claimed.row is None else claimed.row.position_on(side))
    groups = [group for group in newest.groups if group != newest.group]
    group = selectors.choice("Group", groups, "drift-of") if groups else None
    if group is not None:
        index = newest.groups.index(group)
        takeaway = lag_tables.drift_takeaway(drift(row, index))
        st.markdown(f"**Drift of {markdown(group)}** · {takeaway}")
        chart = lag_charts.drift_chart(answer, shown, group, colours)
        alt = f"In the newest sample {takeaway}."
        st.plotly_chart(chart, config=blocks.CHART_OPTIONS, alt=alt, key="drift-of-partition", theme=None)
    columns = lag_tables.history(None if group is None else newest.groups.index(group))
    _moments(columns, shown.history[::-1], "lag-of-partition", alt=lag_tables.partition_takeaway(shown))


def _facts(shown: PartitionView, row: LagPartition, side: Cluster, *, claim: Position | None) -> None:
    sample, judged = shown.history[-1].sample, shown.side(side)
    if in_time(sample):
        st.markdown(
            f"**{lag_tables.MARK[side]} {side}** · behind: {markdown(lag_text(row.time_lag_on(side)))}  \n"
            f"Position: **{markdown(number(row.position_on(side)))}**"
        )
        return
    other = "" if claim == row.position_on(side) else f" :gray[· the mirror claims {number(claim)}]"
    label = "Position" if side is Cluster.OLD else f"Position, {row.exactness.value.lower()} {METHOD[row.method]}"
    st.markdown(
        f"**{lag_tables.MARK[side]} {side}** · lag {lag_tables.signed_lag(lag(row, side, sample.isolation_level))}  \n"
        f"{label}: **{number(row.position_on(side))}**{other}  \n"
        f"Next record written: {markdown(lag_tables.time(judged.time))}  \n"
        f"Log end grows: {markdown(lag_tables.growth(judged.growth))}  \n"
        f"Log start reaches it: {markdown(lag_tables.start_reaches(judged, sample))}"
    )


def _moments(columns: Columns[Row], moments: Sequence[Row], name: str, *, alt: str) -> None:
    """Draw the moments in a collapsed table, newest first.

    Args:
        columns: The columns.
        moments: All rows, newest first.
        name: Name of the downloads, and key of the table.
        alt: Description of the table for screen readers.
    """
    with st.expander("Data"):
        table.show(columns, moments[:_SHOWN], alt=alt)
        newest = "" if len(moments) <= _SHOWN else f"The newest {_SHOWN} of "
        with downloads.to_the_right_of(f":gray[{newest}{many(len(moments), 'moment')}.]"):
            downloads.rows(name, name, lambda: table.frame(columns, moments))
