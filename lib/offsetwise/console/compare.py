"""The Compare screen: the answer, the numbers, the picture, the table, and the proof of the selected row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import (
    blocks,
    choosing,
    derived,
    evidence,
    figures,
    frames,
    guard,
    heat,
    partitions,
    reconciling,
    table,
)
from offsetwise.console.checkpoint.questions import ReadingOf
from offsetwise.console.desk import ComparisonOf, Desk, Held, Offered, Subject, SubjectKind
from offsetwise.console.escaping import markdown
from offsetwise.console.palette import Palette
from offsetwise.model import Comparison, Exactness, Severity
from offsetwise.wording import many, number, read_at, verdicts
from offsetwise.wording.verdicts import Tone

_ICON: Final = ":material/compare_arrows:"
_ANSWER: Final = {
    Tone.WRONG: (st.error, ":material/warning:"),
    Tone.CAREFUL: (st.warning, ":material/help:"),
    Tone.UNKNOWN: (st.info, ":material/help:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def comparison(desk: Desk, migration: Offered, subject: Subject, head: guard.Head) -> Held[Comparison] | None:
    """Give the comparison to show; a live one only if it was read, or a person asks for it now."""
    question = ComparisonOf(migration=migration.name, subject=subject)
    head.says(_caption(migration, subject, desk.held(question)))
    offer = blocks.Offer(
        what=f"{markdown(str(subject))} and both clusters",
        why="Comparing reads the checkpoint, both clusters, and small windows of records. Nothing is written.",
        now="Compare now",
        again="Compare again",
        icon=_ICON,
        key="compare",
        stop="Stop comparing",
    )
    found = blocks.live(desk, question, offer)
    head.says(_caption(migration, subject, found))
    if found is None and desk.reading(question) is not None and subject.kind is SubjectKind.CHECKPOINT:
        _checkpoint_alone(desk, ReadingOf(migration=migration.name, name=subject.name))
    return found


def draw(desk: Desk, migration: Offered, held: Held[Comparison]) -> None:
    """Draw the whole screen of one comparison."""
    shown, colours = held.value, guard.colours()
    _answer(held)
    if not shown.partitions:
        blocks.empty(
            "No partition to compare.",
            "The positions name no Kafka topic. Look at the checkpoint with the command below.",
            "offsetwise inspect CHECKPOINT",
        )
        return
    _metrics(shown)
    _belongs(shown)
    _of_all(shown)
    _picture(held, colours)
    _partitions(held, colours)
    _whole_topics(desk, migration, held)


@st.fragment
def _whole_topics(desk: Desk, migration: Offered, held: Held[Comparison]) -> None:
    st.subheader("Every record of a topic", anchor=False)
    with guard.block("reconciliation"):
        reconciling.draw(desk, migration, derived.facts(held).topics)


@st.fragment
def _partitions(held: Held[Comparison], colours: Palette) -> None:
    st.subheader("Every partition", anchor=False)
    with guard.block("partitions"):
        facts = derived.facts(held)
        rows = derived.filtered(held, choosing.filters(facts.topics, facts.codes))
        if rows:
            evidence.draw(held.value, partitions.choose(held, rows, colours))
        else:
            blocks.empty("No partition passes these filters.", "Clear a filter to see more.")


def _belongs(shown: Comparison) -> None:
    of = shown.belongs_to
    whose = (
        f"The positions are those of the {of.cluster} cluster"
        if of.cluster
        else "? Which cluster they belong to is open"
    )
    st.markdown(f":gray[{whose}: {markdown(of.reason)}]")


def _of_all(shown: Comparison) -> None:
    found = frames.findings_of_all(shown)
    if found:
        blocking = any(finding.severity is Severity.BLOCKS for finding in found)
        with st.expander(f"{many(len(found), 'finding')} about the whole migration", expanded=blocking):
            evidence.findings(found)


def _checkpoint_alone(desk: Desk, question: ReadingOf) -> None:
    with guard.block("checkpoint"):
        offer = blocks.Offer(
            what="the checkpoint alone",
            now="Read the checkpoint alone",
            again="Read the checkpoint again",
            icon=_ICON,
            key="checkpoint-alone",
            at_once=True,
        )
        held = blocks.live(desk, question, offer)
        if held is not None:
            evidence.checkpoint_alone(held.value.checkpoint)


def _caption(migration: Offered, subject: Subject, held: Held[Comparison] | None) -> str:
    if held is None:
        clusters = f"old **{markdown(migration.old)}** · new **{markdown(migration.new)}**"
        return f"{clusters} · {markdown(str(subject))} · not read yet"
    shown = held.value
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


def _answer(held: Held[Comparison]) -> None:
    tone, head, rest = derived.facts(held).answer
    box, icon = _ANSWER[tone]
    box(f"**{head}** {markdown(rest)}", icon=icon)
    if held.value.partitions:
        told = markdown(derived.facts(held).at_new_offsets)
        st.markdown(f"{told} [Why, partition by partition](#{evidence.ANCHOR})")


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
    with st.container(horizontal=True):
        for label, value, help_ in cards:
            st.metric(label, value, border=True, help=help_)


@st.fragment
def _picture(held: Held[Comparison], colours: Palette) -> None:
    with guard.block("picture"):
        many_lanes = len(held.value.partitions) > figures.MAX_LANES
        topic = _heat(held, colours) if many_lanes else None
        _lanes(held, topic, colours)


def _lanes(held: Held[Comparison], topic: str | None, colours: Palette) -> None:
    rows = of = derived.filtered(held, choosing.Filters())
    if topic is not None:
        rows, of = derived.of_topic(held, topic), derived.filtered(held, choosing.Filters(topics=(topic,)))
    st.subheader(f"Where each partition{f' of {markdown(topic)}' if topic else ''} resumes", anchor=False)
    more = "" if len(of) == len(rows) else f" The {len(rows)} of {len(of):,} partitions that most need a look."
    st.markdown(
        ":gray[Left: both logs, aligned at the next record to read. Bars are what each cluster holds; ✖ is where the "
        f"old number would land on the new one. Right: the lag on both. Signed log scale.{more}]"
    )
    figure, takeaway = derived.lanes(held, rows, colours)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=takeaway, key="lanes", theme=None)
    with st.expander("Data"):
        table.draw(derived.lane_table(held, rows))


def _heat(held: Held[Comparison], colours: Palette) -> str:
    facts = derived.facts(held)
    st.subheader("Where the old numbers would land", anchor=False)
    cut = (
        ""
        if len(facts.topics) <= heat.MAX_TOPICS
        else f" The {heat.MAX_TOPICS} of {len(facts.topics):,} topics that most need a look."
    )
    st.markdown(
        ":gray[Each cell is a partition: how far from the right place its old number lies on the new cluster. "
        f"Grey: nobody can tell.{cut}]"
    )
    figure = derived.heat_map(held, colours)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=facts.takeaway, key="heat", theme=None)
    with st.expander("Data: topics"):
        st.dataframe(derived.topic_table(held), hide_index=True, height=table.height(len(facts.topics)))
    return choosing.choice("Topic in the charts below", facts.worst_topics, "chart", width=420)
