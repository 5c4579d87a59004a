"""The Compare screen: the answer, the numbers, the picture, the table, and the proof of the selected row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import blocks, choosing, evidence, figures, frames, guard, heat, table, takeaways, verdicts
from offsetwise.console.desk import Desk, Held, Key, Offered
from offsetwise.console.palette import Palette, Tone
from offsetwise.console.wording import markdown, number, plain, read_at
from offsetwise.model import Comparison, Exactness, PartitionComparison

_ANSWER: Final = {
    Tone.WRONG: (st.error, ":material/warning:"),
    Tone.CAREFUL: (st.warning, ":material/help:"),
    Tone.UNKNOWN: (st.info, ":material/help:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def comparison(desk: Desk, migration: Offered, key: Key, head: guard.Head) -> Held | None:
    """Give the comparison to show; a live one only if it was read, or a person asks for it now."""
    held = desk.held(key)
    if held is not None:
        head.says(_caption(held.comparison))
    else:
        head.says(
            f"old **{markdown(migration.old)}** · new **{markdown(migration.new)}** · {markdown(str(key.subject))} · not read yet"
        )
    if not migration.recorded:
        held = _live(desk, key, held)
    return held


def draw(held: Held) -> None:
    """Draw the whole screen of one comparison."""
    shown, colours = held.comparison, guard.colours()
    _answer(shown)
    _metrics(shown)
    if not shown.partitions:
        blocks.empty(
            "No partition to compare.",
            "The positions name no Kafka topic. Look at the checkpoint with the command below.",
            "offsetwise inspect CHECKPOINT",
        )
        return
    _picture(held, colours)
    st.subheader("Every partition", anchor=False)
    rows = _filtered(held, choosing.filters(shown.partitions))
    if not rows:
        blocks.empty("No partition passes these filters.", "Clear a filter to see more.")
        return
    row = table.choose_row(held, rows, colours)
    evidence.draw(shown, row)


def _live(desk: Desk, key: Key, held: Held | None) -> Held | None:
    reading = desk.reading(key)
    if reading is not None and not reading.outcome.done():
        blocks.loading(reading, f"{markdown(str(key.subject))} and both clusters")
        st.rerun()
    error = None if reading is None else reading.outcome.exception()
    if error is not None and isinstance(error, Exception):
        kept = "What was read before is still shown below." if held else ""
        blocks.failed(error, retry=lambda: _start(desk, key), key="live", kept=kept)
        if held is None:
            evidence.checkpoint_alone(desk, key)
    elif held is None:
        blocks.empty(
            "Nothing was read yet.",
            "Comparing reads the checkpoint, both clusters, and small windows of records with Spark. It writes nothing.",
        )
        st.button("Compare now", type="primary", icon=":material/compare_arrows:", on_click=_start, args=(desk, key))
    else:
        st.button("Compare again", icon=":material/refresh:", on_click=_start, args=(desk, key))
    return held


def _start(desk: Desk, key: Key) -> None:
    desk.read(key)


def _caption(shown: Comparison) -> str:
    what = (
        f"checkpoint **{markdown(_last(shown.checkpoint.uri))}**"
        if shown.checkpoint
        else f"group **{markdown(shown.group or '?')}**"
    )
    batch = shown.checkpoint.last_committed_batch if shown.checkpoint else None
    committed = "" if batch is None else f", batch {number(batch)} committed"
    return (
        f"old **{markdown(shown.old.name)}** · new **{markdown(shown.new.name)}** · {what}{committed} · "
        f"{markdown(read_at(shown.taken_at, datetime.now(UTC)))} · :material/lock: read-only"
    )


def _last(uri: str) -> str:
    return uri.rstrip("/").rsplit("/", 1)[-1]


def _answer(shown: Comparison) -> None:
    tone, head, rest = verdicts.answer(shown)
    box, icon = _ANSWER[tone]
    box(f"**{head}** {markdown(rest)}", icon=icon)


def _metrics(shown: Comparison) -> None:
    summary = shown.summary
    proven = summary.exact + summary.position_exact + summary.preserved
    unknown = summary.unknown + summary.claimed
    cards = (
        ("Partitions", number(summary.partitions), "One row per partition of the positions, and per new partition."),
        ("Proven", number(proven), "The place on the new cluster was proven on the records."),
        ("Bounded", number(summary.bounded), verdicts.MEANING[Exactness.BOUNDED]),
        ("Unknown", number(unknown), "No place is known, or only claimed by somebody."),
        (
            "Skipped if unedited",
            f"≥ {number(summary.raw_skip)}",
            "Records never read if the old numbers were used. Only what is proven is added up.",
        ),
    )
    for column, (label, value, help_) in zip(st.columns(len(cards)), cards, strict=True):
        column.metric(label, value, border=True, help=help_)


def _picture(held: Held, colours: Palette) -> None:
    rows = held.comparison.partitions
    if len(rows) > figures.MAX_LANES:
        topic, rows = _heat(held, colours)
        st.subheader(f"Where each partition of {markdown(topic)} resumes", anchor=False)
    else:
        st.subheader("Where each partition resumes", anchor=False)
    lanes = rows[: figures.MAX_LANES]
    more = "" if len(rows) <= len(lanes) else f" The {len(lanes)} of {len(rows):,} partitions that most need a look."
    st.markdown(
        ":gray[Both logs, aligned at the next record to read. Bars are what each cluster holds; "
        f"✖ is where the old number would land on the new cluster.{more}]"
    )
    left, right = st.columns([5, 3], gap="medium")
    with left:
        st.plotly_chart(
            figures.aligned_logs(lanes, colours),
            config=blocks.CHART_OPTIONS,
            alt=takeaways.aligned(lanes),
            key="aligned",
            theme=None,
        )
        with st.expander("Data: logs"):
            table.plain(frames.log_table(lanes))
    with right:
        st.plotly_chart(
            figures.lags(lanes, colours), config=blocks.CHART_OPTIONS, alt=takeaways.lags(lanes), key="lags", theme=None
        )
        with st.expander("Data: lag"):
            table.plain(frames.lag_table(lanes))


def _heat(held: Held, colours: Palette) -> tuple[str, tuple[PartitionComparison, ...]]:
    rows = held.comparison.partitions
    topics = heat.worst_topics(rows)
    st.subheader("Where the old numbers would land", anchor=False)
    cut = (
        ""
        if len(topics) <= heat.MAX_TOPICS
        else f" The {heat.MAX_TOPICS} of {len(topics):,} topics that most need a look."
    )
    st.markdown(
        ":gray[Each cell is a partition: how far from the right place its old number lies on the new cluster. "
        f"Grey: nobody can tell.{cut}]"
    )
    st.plotly_chart(
        _heat_figure(held.id, rows, colours),
        config=blocks.CHART_OPTIONS,
        alt=takeaways.heat(rows),
        key="heat",
        theme=None,
    )
    with st.expander("Data: topics"):
        st.dataframe(_topics(held.id, rows), hide_index=True, height=table.height(len(topics)))
    topic = st.selectbox(
        "Topic in the charts below", topics, key="chart", bind="query-params", format_func=plain, width=420
    )
    of_topic = sorted((row for row in rows if row.topic == topic), key=lambda row: (verdicts.rank(row), row.partition))
    return topic, tuple(sorted(of_topic[: figures.MAX_LANES], key=lambda row: row.partition)) + tuple(
        of_topic[figures.MAX_LANES :]
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _heat_figure(held: int, _rows: Sequence[PartitionComparison], colours: Palette) -> object:  # noqa: ARG001 - the key
    return heat.heat_map(_rows, colours)


@st.cache_resource(max_entries=8, show_spinner=False)
def _topics(held: int, _rows: Sequence[PartitionComparison]) -> object:  # noqa: ARG001 - the key
    return heat.topic_table(_rows)


def _filtered(held: Held, chosen: choosing.Filters) -> tuple[PartitionComparison, ...]:
    return _filtered_rows(held.id, chosen, held.comparison.partitions)


@st.cache_resource(max_entries=32, show_spinner=False)
def _filtered_rows(
    held: int,  # noqa: ARG001 - the key
    chosen: choosing.Filters,
    _rows: tuple[PartitionComparison, ...],
) -> tuple[PartitionComparison, ...]:
    return chosen.apply(_rows)
