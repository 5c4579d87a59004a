"""One partition over time: its lag on both clusters, how old its next record is, and how groups drift from it."""

from __future__ import annotations

from concurrent.futures import wait
from typing import Final

import streamlit as st

from offsetwise.console import blocks, choosing, guard
from offsetwise.console.desk import Desk
from offsetwise.console.escaping import markdown
from offsetwise.console.lag import derived, moments, sentences
from offsetwise.console.lag.questions import PartitionLagOf
from offsetwise.lag.amounts import drift, lag
from offsetwise.lag.view import PartitionView
from offsetwise.model import Cluster, LagPartition
from offsetwise.wording import lag as lag_words
from offsetwise.wording import number, signed
from offsetwise.wording.verdicts import METHOD

_PATIENCE_S: Final = 2.0


def draw(desk: Desk, question: PartitionLagOf) -> None:
    """Draw it, reading its samples where that was not done yet."""
    _, topic, index = question.key
    st.subheader(f"{markdown(f'{topic}-{index}')} over time", anchor=False)
    if desk.held(question) is None and desk.reading(question) is None:
        wait([desk.read(question).outcome], _PATIENCE_S)
    held = desk.held(question)
    if held is None:
        offer = blocks.Offer(
            what="the samples of this partition",
            why="Looks its samples up in the store. No cluster is asked.",
            now="Read its samples",
            again="Read its samples again",
            icon=":material/show_chart:",
            key="partition-lag",
            at_once=True,
        )
        held = blocks.live(desk, question, offer)
    shown = None if held is None else held.value
    row = None if shown is None else shown.row
    if held is None or shown is None or row is None:
        return
    colours = guard.colours()
    newest = shown.history[-1].sample
    figure = derived.lag_chart(held, shown, colours)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=_takeaway(shown), key="lag-of-partition", theme=None)
    left, right = st.columns(2)
    for side, column in ((Cluster.OLD, left), (Cluster.NEW, right)):
        with column:
            _facts(shown, row, side)
    groups = [group for group in newest.groups if group != newest.group]
    group = choosing.choice("Group", groups, "drift-of") if groups else None
    if group is not None:
        index = newest.groups.index(group)
        st.markdown(
            f"**Drift of {markdown(group)}** · {signed(drift(row, index))} records against the position "
            ":gray[· positive: the group is ahead of it]"
        )
        chart = derived.drift_chart(held, shown, group, colours)
        alt = f"The group is {signed(drift(row, index))} records ahead of the position in the newest sample."
        st.plotly_chart(chart, config=blocks.CHART_OPTIONS, alt=alt, key="drift-of-partition", theme=None)
    frame = derived.history_table(held, shown, None if group is None else newest.groups.index(group))
    moments.draw(frame, "lag-of-partition", alt=_takeaway(shown))


def _facts(shown: PartitionView, row: LagPartition, side: Cluster) -> None:
    sample, judged = shown.history[-1].sample, shown.side(side)
    place = "Position" if side is Cluster.OLD else f"Place, {row.exactness.value.lower()} {METHOD[row.method]}"
    st.markdown(
        f"**{sentences.MARK[side]} {side}** · lag {sentences.signed_lag(lag(row, side, sample.isolation_level))}  \n"
        f"{place}: **{number(row.place(side))}**  \n"
        f"Next record written: {markdown(sentences.time(judged.time))}  \n"
        f"Log end grows: {markdown(sentences.growth(judged.growth))}  \n"
        f"Log start reaches it: {markdown(sentences.start_reaches(judged, sample))}"
    )


def _takeaway(shown: PartitionView) -> str:
    row, sample = shown.row, shown.history[-1].sample
    told = [
        f"Lag on {side} is {lag_words(None if row is None else lag(row, side, sample.isolation_level))}"
        for side in Cluster
    ]
    gaps = sum(each.after_gap for each in shown.history)
    return f"{', '.join(told)} in the newest of {len(shown.history):,} samples, with {gaps} gaps."
