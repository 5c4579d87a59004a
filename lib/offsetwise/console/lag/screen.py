"""The Lag screen: what was left to read on both clusters over time, from own samples, and what that means."""

from __future__ import annotations

from concurrent.futures import wait
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import blocks, choosing, guard
from offsetwise.console.desk import Desk, Offered, Subject
from offsetwise.console.escaping import markdown
from offsetwise.console.evidence import findings
from offsetwise.console.lag import derived, moments, partition, sampling, sentences, table
from offsetwise.console.lag.questions import LagOf, PartitionLagOf
from offsetwise.lag.view import LagView
from offsetwise.model import Cluster
from offsetwise.wording import many, signed

_WINDOWS: Final = {
    "15 min": 15 * 60_000,
    "1 h": 3_600_000,
    "6 h": 6 * 3_600_000,
    "24 h": 24 * 3_600_000,
    "7 days": 7 * 24 * 3_600_000,
    "30 days": 30 * 24 * 3_600_000,
}
_REFRESH: Final = {"Off": None, "10 s": 10, "30 s": 30, "60 s": 60}
_CARD_PX: Final = 230
_CARD_PADDING_PX: Final = 48
_DIGIT_PX: Final = 20
"""A card's number is cut where it does not fit."""
_PATIENCE_S: Final = 2.0
"""How long a page waits for the store before it shows that it waits."""


def draw(desk: Desk, migration: Offered, subject: Subject, head: guard.Head) -> None:
    """Draw the whole screen."""
    head.says(f"old **{markdown(migration.old)}** · new **{markdown(migration.new)}** · {markdown(str(subject))}")
    with st.container(horizontal=True):
        window = choosing.choice("Show the last", list(_WINDOWS), "window", default="1 h", width=140)
        refresh = None
        if not migration.recorded:
            refresh = _REFRESH[choosing.choice("Refresh", list(_REFRESH), "refresh", width=140)]
    question = LagOf(migration=migration.name, subject=subject, window_ms=_WINDOWS[window])
    st.fragment(_body, run_every=refresh)(desk, migration, question, refresh)


def _body(desk: Desk, migration: Offered, question: LagOf, refresh: int | None) -> None:
    with guard.block("sampling"):
        sampling.draw(desk, migration)
    with guard.block("lag"):
        _refreshed(desk, question, refresh)
        held = blocks.live(desk, question, _offer())
        if held is None:
            return
        if held.value is None:
            _no_sample(question.subject)
            return
        _draw(desk, migration, question, held, held.value)


def _refreshed(desk: Desk, question: LagOf, refresh: int | None) -> None:
    """Look again if that is due, without a flicker where the store answers soon. A mere rerun asks nothing."""
    held = desk.held(question)
    first = held is None and desk.reading(question) is None
    due = refresh is not None and held is not None and (datetime.now(UTC) - held.at).total_seconds() >= refresh * 0.9
    if (first or due) and not desk.recorded(question):
        wait([desk.read(question).outcome], _PATIENCE_S)


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


def _no_sample(subject: Subject) -> None:
    blocks.empty(
        "No sample was taken yet.",
        "Start sampling above, or leave this command running beside the console; both keep samples in the same store.",
        sentences.command("migration.yaml", str(subject)),
    )


def _draw(desk: Desk, migration: Offered, question: LagOf, held: derived.Shown, view: LagView) -> None:
    colours, now = guard.colours(), datetime.now(UTC)
    sample = view.newest.sample
    st.markdown(f":gray[{sentences.newest(view, now)}]")
    if not migration.recorded and sentences.overdue(sample, now):
        st.info("**The next sample is overdue.** Nobody seems to sample any more.", icon=":material/schedule:")
    for each in sample.missing:
        st.warning(f"{sentences.missing(each)}  \n**What to do:** {markdown(each.fix)}", icon=":material/cloud_off:")
    _cards(view)
    if view.alerts:
        with st.expander(f"What the samples show ({len(view.alerts)})", expanded=True):
            findings([each.finding for each in view.alerts])
    st.subheader("What is left to read", anchor=False)
    st.markdown(
        ":gray[All partitions added up, signed: below 0 is past the end. ● old, solid · ◆ new, dotted. "
        "Where a sample is missing, or lacks a cluster, the line breaks. Lag on new counts from the place that the "
        "mirror claims, often a little early; Compare proves places on the records.]"
    )
    figure = derived.totals_chart(held, view, colours)
    said = sentences.takeaway(view.points)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=said, key="lag-totals", theme=None)
    moments.draw(derived.totals_table(held, view), "lag-totals", alt=said)
    st.subheader("Every partition, newest sample", anchor=False)
    chosen = table.choose(held, view, colours)
    if chosen is None:
        blocks.empty("No partition to show.", "The sample holds none, or the filter passes none.")
        return
    with guard.block("partition"):
        partition.draw(
            desk,
            PartitionLagOf(
                migration=question.migration,
                subject=question.subject,
                window_ms=question.window_ms,
                key=chosen.key,
                newest=view.newest.id,
            ),
        )


def _cards(view: LagView) -> None:
    sample, summed = view.newest.sample, view.points[-1].totals
    cards = [
        (
            f"{sentences.MARK[side]} Lag on {side}",
            sentences.total(summed.lag(side)),
            sentences.total_note(summed.lag(side)) or ":gray[known in every partition]",
        )
        for side in Cluster
    ]
    for name, total in zip(sample.groups, summed.drift, strict=True):
        if name != sample.group:
            note = f":gray[against the positions, in {many(total.known, 'partition')}; negative: behind]"
            cards.append((f"Drift of {markdown(name)}", signed(total.net), note))
    width = max(_CARD_PX, *(_CARD_PADDING_PX + _DIGIT_PX * len(value) for _, value, _ in cards))
    with st.container(horizontal=True):
        for label, value, note in cards:
            with st.container(border=True, width=width, height="stretch"):
                st.metric(label, value)
                st.markdown(note)
