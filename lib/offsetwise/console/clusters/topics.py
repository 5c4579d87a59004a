"""The topics of both clusters: range bars, the table, and in what the configurations differ."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import pandas as pd
import streamlit as st

from offsetwise import files
from offsetwise.clusters.pairs import TopicPair
from offsetwise.console import blocks, choosing, downloads, guard, paging, table
from offsetwise.console.clusters import figures, frames, words
from offsetwise.console.clusters.view import View
from offsetwise.console.escaping import markdown
from offsetwise.console.figures import MAX_LANES
from offsetwise.console.palette import Palette
from offsetwise.model import Snapshot, TopicState
from offsetwise.wording import many

Ids = tuple[int | None, int | None]
Names = tuple[tuple[str | None, str | None], ...]
"""Which pairs are shown, by their keys."""

_WIDTHS: Final = {
    "old topic": 112,
    "new topic": 112,
    "verdict": 158,
    "p old": 46,
    "p new": 50,
    "held old": 70,
    "held new": 74,
    "cleanup": 80,
    "retention": 86,
    "timestamps": 200,
    "id old": 190,
    "id new": 190,
}
_HELP: Final = {
    "p old": "Partitions on the old cluster.",
    "p new": "Partitions on the new cluster.",
    "held old": "Offsets from log start to HW on the old cluster, over all partitions. Not records: there may be gaps.",
    "held new": "Offsets from log start to HW on the new cluster, over all partitions. Not records: there may be gaps.",
    "cleanup": "cleanup.policy; old → new where they differ.",
    "timestamps": "message.timestamp.type; old → new where they differ.",
    "retention": "retention.ms and retention.bytes; old → new where they differ.",
}


@st.fragment
def draw(view: View) -> None:
    """Draw filters, chart, tables and downloads. A fragment: a filter draws nothing else again."""
    with guard.block("topic-tables"):
        pairs = _filtered(view)
        if not pairs:
            blocks.empty("No topic passes these filters.", "Clear a filter to see more.")
            return
        colours = guard.colours()
        _ranges(view, pairs, colours)
        _table(view, pairs, colours)
        _differences(view, pairs)


def _filtered(view: View) -> tuple[TopicPair, ...]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = choosing.several("Topic", "topic", view.topics)
        only = st.toggle("Only differences", key="differences", bind="query-params")
    return view.chosen(chosen, only_differing=only)


def _ranges(view: View, pairs: tuple[TopicPair, ...], colours: Palette) -> None:
    st.subheader("What the logs hold", anchor=False)
    shown = pairs
    if sum(max(_partitions_of(pair.old), _partitions_of(pair.new)) for pair in pairs) > MAX_LANES:
        topics = list(dict.fromkeys(pair.name for pair in pairs))
        name = choosing.choice("Topic in the chart", topics, "chart", width=420)
        shown = tuple(pair for pair in pairs if pair.name == name)
    names = tuple(pair.key for pair in shown)
    lanes = _lanes(view.ids, names, shown)
    span = paging.page(len(lanes), "lanes", label="Partitions", size=MAX_LANES)
    st.markdown(
        ":gray[From log start to HW. ● old is solid, ◆ new is hatched; a red mark is the last stable offset where an "
        "open transaction holds it back. Equal offsets are no promise of equal records: Compare proves those.]"
    )
    st.plotly_chart(
        _chart(view.ids, names, span.start, colours, lanes[span]),
        config=blocks.CHART_OPTIONS,
        alt=figures.takeaway(lanes[span]),
        key="ranges",
        theme=None,
    )
    with st.expander("Data: log start, last stable offset and HW of each partition"):
        paging.draw(_partitions(view.ids, names, shown), "offsets", alt=figures.takeaway(lanes))


def _table(view: View, pairs: tuple[TopicPair, ...], colours: Palette) -> None:
    st.subheader("Topics", anchor=False)
    page = pairs[paging.page(len(pairs))]
    made = frames.topic_table(page, view)
    tones = [words.verdict(pair, view.differences[pair.key])[0] for pair in page]
    css = [f"color: {colours.tone(tone)}; font-weight: 600" for tone in tones]
    st.dataframe(
        table.dressed(table.printed(made), "verdict", css),
        hide_index=True,
        height=table.height(len(page)),
        placeholder="?",
        alt=f"{many(len(page), 'topic')} on both clusters: partitions, what the logs hold, and configuration.",
        column_config={
            name: st.column_config.Column(
                width=width, alignment=alignment, help=_HELP.get(name), pinned=name == "old topic"
            )
            for name, (width, alignment) in table.layout(made, _WIDTHS).items()
        },
    )
    _downloads(view, pairs)


def _downloads(view: View, pairs: tuple[TopicPair, ...]) -> None:
    total = len(view.pairs)
    amount = many(total, "topic") if len(pairs) == total else f"{len(pairs):,} of {many(total, 'topic')}"
    with downloads.beside(f":gray[{amount}.]"):
        for what, make in (
            ("topics", lambda: downloads.csv(frames.topic_table(pairs, view))),
            ("partitions", lambda: downloads.csv(frames.partition_table(pairs))),
        ):
            downloads.button(
                f"{what.capitalize()} CSV",
                f"{what}.csv",
                make,
                key=f"download-{what}",
                says="The rows shown, all pages.",
            )
        for side, read in (("old", view.old), ("new", view.new)):
            if read is not None:
                downloads.button(
                    f"{side} JSON",
                    f"{side}.json",
                    partial(snapshot_file, read.snapshot),
                    key=f"download-{side}",
                    says="The snapshot of the whole cluster, as `offsetwise snapshot` writes it.",
                )


def snapshot_file(snapshot: Snapshot) -> bytes:
    """Write the file that `offsetwise snapshot` writes."""
    return files.dump(snapshot).encode()


def _differences(view: View, pairs: tuple[TopicPair, ...]) -> None:
    st.subheader("Differences in configuration", anchor=False)
    made = frames.difference_table(pairs, view)
    if made.empty:
        unread = sum(1 for pair in pairs if words.verdict(pair, view.differences[pair.key])[1].startswith("?"))
        if unread:
            st.markdown(f"? Nothing differs as far as is known; {many(unread, 'topic')} cannot be told.")
        else:
            st.markdown("✓ Nothing differs in the topics shown.")
        return
    page = made[paging.page(len(made), "differing")]
    st.dataframe(
        page,
        hide_index=True,
        height=table.height(len(page)),
        placeholder="?",
        alt=f"{many(len(made), 'difference')} between the two clusters, and what each means.",
        column_config={
            "topic": st.column_config.Column(width=150, pinned=True),
            "what": st.column_config.Column(width=210),
            "old": st.column_config.Column(width=130),
            "new": st.column_config.Column(width=130),
            "what it means": st.column_config.Column(width=640),
        },
    )
    meanings = dict.fromkeys(zip(made["what"], made["what it means"], strict=True))
    with st.expander("What the differences mean"):
        for what, meaning in meanings:
            st.markdown(f"- **{markdown(what)}**: {markdown(meaning)}")


def _partitions_of(topic: TopicState | None) -> int:
    return 0 if topic is None else len(topic.partitions)


@st.cache_resource(max_entries=16, show_spinner=False)
def _lanes(ids: Ids, names: Names, _pairs: tuple[TopicPair, ...]) -> tuple[figures.Lane, ...]:  # noqa: ARG001 - the key
    return figures.lanes_of(_pairs)


@st.cache_resource(max_entries=32, show_spinner=False)
def _chart(ids: Ids, names: Names, start: int, colours: Palette, _lanes: tuple[figures.Lane, ...]) -> Any:  # noqa: ARG001 - the key
    return figures.ranges(_lanes, colours, both_read=None not in ids)


@st.cache_resource(max_entries=16, show_spinner=False)
def _partitions(
    ids: Ids,  # noqa: ARG001 - the key, with the names
    names: Names,  # noqa: ARG001 - as above
    _pairs: tuple[TopicPair, ...],
) -> pd.DataFrame:
    return frames.partition_table(_pairs)
