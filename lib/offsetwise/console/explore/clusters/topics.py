from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from offsetwise import files
from offsetwise.clusters.pairs import TopicDifference, TopicPair
from offsetwise.console.explore import shard_chart
from offsetwise.console.explore.clusters import range_chart, summary
from offsetwise.console.explore.clusters.summary import View
from offsetwise.console.explore.compare_charts import MAX_LANES
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, palette, selectors, table, terms
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Snapshot, TopicState
from offsetwise.wording import many, part

LOGS: Final = "What the logs hold"
HASH_KEYS: Final = "Which shard has which hash keys"
DIFFERENCES: Final[Columns[tuple[TopicPair, TopicDifference]]] = (
    Column("topic", lambda row: row[0].name, 150, pinned=True),
    Column("what", lambda row: terms.said(row[1].what), 210),
    Column("old", lambda row: _value(row[1].what, row[1].old), 130),
    Column("new", lambda row: _value(row[1].what, row[1].new), 130),
    Column("what it means", lambda row: terms.said(row[1].meaning), 640),
)


@st.fragment
def draw(view: View) -> None:
    """Draw filters, chart, tables and downloads. A fragment: a filter redraws nothing else."""
    with guard.block("topic-tables"):
        pairs = _filtered(view)
        if not pairs:
            blocks.empty("No topic passes these filters.", "Clear a filter to see more.")
            return
        colours = palette.current()
        ranges = tuple(pair for pair in pairs if not in_shards(pair))
        if ranges:
            _ranges(view, ranges, colours)
        _shards(view, pairs, colours)
        _table(view, pairs)
        _differences(view, pairs)


def _filtered(view: View) -> tuple[TopicPair, ...]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = selectors.several("Topic", "topic", view.topics)
        only = st.toggle("Only differences", key="differences", bind="query-params")
    return view.chosen(chosen, only_differing=only)


def in_shards(pair: TopicPair) -> bool:
    """Return whether both sides are streams in shards, whose first and last positions cannot be drawn as numbers."""
    return all(topic.shards for topic in (pair.old, pair.new) if topic is not None)


def _ranges(view: View, pairs: tuple[TopicPair, ...], colours: Palette) -> None:
    blocks.section(LOGS)
    shown = pairs
    if sum(max(_partitions_of(pair.old), _partitions_of(pair.new)) for pair in pairs) > MAX_LANES:
        topics = list(dict.fromkeys(pair.name for pair in pairs))
        name = selectors.choice("Topic in the chart", topics, "chart", width=420)
        shown = tuple(pair for pair in pairs if pair.name == name)
    lanes = _lanes(view, shown)
    span = table.page(len(lanes), "lanes", label="Partitions", size=MAX_LANES)
    st.markdown(
        ":gray[From log start to HW. ● old is solid, ◆ new is hatched; a red mark is the last stable offset where an "
        "open transaction holds it back. Equal offsets are no promise of equal records: Compare proves those.]"
    )
    st.plotly_chart(
        _chart(view, lanes[span], colours),
        config=blocks.CHART_OPTIONS,
        alt=range_chart.takeaway(lanes[span]),
        key="ranges",
        theme=None,
    )
    with st.expander("Data: log start, last stable offset and HW of each partition"):
        table.paged(range_chart.LANES, lanes, "offsets", alt=range_chart.takeaway(lanes))


def _shards(view: View, pairs: tuple[TopicPair, ...], colours: Palette) -> None:
    shards = _shards_of(view, pairs)
    if not shards:
        return
    blocks.section(HASH_KEYS)
    more = "" if len(shards) <= shard_chart.MAX_SHARDS else f" The first {shard_chart.MAX_SHARDS} of {len(shards):,}."
    st.markdown(
        ":gray[A shard lies below those it was made of. Pale ones are closed: they take no more records, and a job "
        f"reads them to their end before it begins the ones below.{more}]"
    )
    said = shard_chart.takeaway(shards)
    st.plotly_chart(_tree(view, pairs, colours), config=blocks.CHART_OPTIONS, alt=said, key="shards", theme=None)
    with st.expander("Data: hash keys and parents of each shard"):
        table.paged(shard_chart.SHARDS, shards, "hash-keys", alt=said)


def _table(view: View, pairs: tuple[TopicPair, ...]) -> None:
    blocks.section("Topics")
    page = pairs[table.page(len(pairs))]
    table.show(
        topics(view),
        page,
        alt=f"{many(len(page), 'topic')} on both clusters: partitions, what the logs hold, and configuration.",
    )
    _downloads(view, pairs)


def _downloads(view: View, pairs: tuple[TopicPair, ...]) -> None:
    with downloads.to_the_right_of(f":gray[{part(len(pairs), len(view.pairs), terms.said('topic'))}.]"):
        for what, make in (
            ("topics", lambda: downloads.csv(table.frame(topics(view), pairs, file=True))),
            ("partitions", lambda: downloads.csv(table.frame(range_chart.LANES, _lanes(view, pairs), file=True))),
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
    return files.dump(snapshot).encode()


def _differences(view: View, pairs: tuple[TopicPair, ...]) -> None:
    blocks.section("Differences in configuration")
    results = [(pair, difference) for pair in pairs for difference in view.differences[pair.key]]
    if not results:
        unread = sum(1 for pair in pairs if summary.verdict(pair, view.differences[pair.key]).icon == "?")
        if unread:
            st.markdown(f"? Nothing differs as far as is known; {many(unread, 'topic')} cannot be compared.")
        else:
            st.markdown(terms.said("✓ Nothing differs in the topics shown."))
        return
    table.paged(
        DIFFERENCES,
        results,
        "differing",
        alt=f"{many(len(results), 'difference')} between the two clusters, and what each means.",
    )
    with st.expander("What the differences mean"):
        for what, meaning in dict.fromkeys((difference.what, difference.meaning) for _, difference in results):
            st.markdown(f"- **{markdown(terms.said(what))}**: {markdown(terms.said(meaning))}")


def _partitions_of(topic: TopicState | None) -> int:
    return 0 if topic is None else len(topic.partitions)


@cached(16)
def _lanes(view: View, pairs: tuple[TopicPair, ...]) -> tuple[range_chart.Lane, ...]:  # noqa: ARG001 - the key
    return range_chart.lanes_of(pairs)


@cached(32)
def _chart(view: View, lanes: tuple[range_chart.Lane, ...], colours: Palette) -> Any:
    return range_chart.ranges(lanes, colours, both_read=None not in view.ids)


@cached(16)
def _shards_of(view: View, pairs: tuple[TopicPair, ...]) -> tuple[shard_chart.Shard, ...]:  # noqa: ARG001 - the key
    return shard_chart.shards_of([(pair.old, pair.new) for pair in pairs])


@cached(16)
def _tree(view: View, pairs: tuple[TopicPair, ...], colours: Palette) -> Any:
    return shard_chart.tree(_shards_of(view, pairs), colours)


def topics(view: View) -> Columns[TopicPair]:
    """Return the columns of the table of topics. `held` counts offsets from log start to HW, over all partitions."""
    description = "Offsets from log start to HW on the {} cluster, over all partitions. Not records: there may be gaps."
    return (
        Column("old topic", lambda pair: pair.old_name or "", 112, pinned=True),
        Column("new topic", lambda pair: pair.new_name or "", 112),
        Column(
            "configuration",
            lambda pair: summary.verdict(pair, view.differences[pair.key]),
            158,
            "How partitions and configuration compare. What the logs hold is not compared here: Compare does that.",
        ),
        Column("p old", lambda pair: _count(pair.old), 92, heading="old partitions"),
        Column("p new", lambda pair: _count(pair.new), 96, heading="new partitions"),
        Column("held old", lambda pair: _span(pair.old), 70, description.format("old")),
        Column("held new", lambda pair: _span(pair.new), 74, description.format("new")),
        Column(
            "cleanup", lambda pair: _both(pair, "cleanup.policy"), 80, "cleanup.policy; old → new where they differ."
        ),
        Column("retention", _retention, 86, "retention.ms and retention.bytes; old → new where they differ."),
        Column(
            "timestamps",
            lambda pair: _both(pair, "message.timestamp.type"),
            200,
            "message.timestamp.type; old → new where they differ.",
        ),
        Column("id old", lambda pair: _id(pair.old), 190),
        Column("id new", lambda pair: _id(pair.new), 190),
    )


def _count(topic: TopicState | None) -> int | None:
    return None if topic is None or topic.error is not None else len(topic.partitions)


def _span(topic: TopicState | None) -> int | None:
    if topic is None or not topic.partitions:
        return None
    spans = [summary.span(partition) for partition in topic.partitions]
    known = [span for span in spans if span is not None]
    return sum(known) if len(known) == len(spans) else None


def _both(pair: TopicPair, key: str) -> str:
    values = [
        "?" if topic is None or not topic.config else dict(topic.config).get(key, "?")
        for topic in (pair.old, pair.new)
        if topic is not None
    ]
    return summary.both(values[0], values[-1]) if values else "?"


def _retention(pair: TopicPair) -> str:
    values = [summary.retention(topic) for topic in (pair.old, pair.new) if topic is not None]
    return summary.both(values[0], values[-1]) if values else "?"


def _id(topic: TopicState | None) -> str:
    return "" if topic is None else topic.id or "?"


def _value(what: str, value: str | None) -> str:
    if value is None:
        return "not there" if what == "topic" else "?"
    if what.endswith(".ms"):
        return summary.duration(value) if value != str(2**63 - 1) else "no limit"
    return value
