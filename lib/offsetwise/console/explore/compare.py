"""The Compare screen: the answer, the numbers, the charts, the table, and the proof of the selected row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import streamlit as st

from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.explore import (
    changes,
    compare_charts,
    compare_map,
    compare_table,
    reconciliation,
    rulers,
    shard_chart,
)
from offsetwise.console.explore.compare_table import PartitionFilters, Rows, filtered
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, evidence, layout, palette, selectors, table, terms
from offsetwise.console.widgets.blocks import counted
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Selection
from offsetwise.engines.engine import CheckpointReading
from offsetwise.model import (
    BelongsTo,
    Comparison,
    Exactness,
    Finding,
    PartitionComparison,
    RawVerdict,
    Severity,
    Subject,
    SubjectKind,
    Summary,
)
from offsetwise.wording import many, number, part, read_at, verdicts
from offsetwise.wording.time_lag import quota
from offsetwise.wording.verdicts import Tone

DRAFT_PAGE: Final = "pages/plan/draft.py"
Answered = CachedAnswer[Comparison]
_ICON: Final = ":material/compare_arrows:"
_LOGS: Final = "Where each partition resumes"
_TABLE: Final = "Every partition"
_RECORDS: Final = "Every record of a topic"
_FINDINGS: Final = "The whole migration"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFacts:
    answer: tuple[Tone, str, str]
    at_new_offsets: str
    """Cost of a restart at the new offsets."""
    topics: tuple[str, ...]
    """In alphabetical order."""
    worst_topics: tuple[str, ...]
    codes: tuple[str, ...]
    """Codes of findings, in alphabetical order."""
    takeaway: str
    """Sentence above the heat map."""


def comparison(answers: Answers, migration: Offered, subject: Subject, head: guard.Head) -> Answered | None:
    """Return the comparison to show; a live one only if it is in memory or a person asks for it."""
    question = Question.of(Reader.comparison, migration.name, subject)
    head.context(_caption(migration, answers.cached(question)))
    offer = blocks.Offer(
        what=f"{markdown(str(subject))} and {terms.said('both clusters')}",
        why=terms.said(
            "Comparing reads the checkpoint, both clusters, and small windows of records. Nothing is written."
        ),
        now="Compare now",
        again="Compare again",
        icon=_ICON,
        key="compare",
        stop="Stop comparing",
    )
    result = blocks.live(answers, question, offer, actions=head.actions)
    head.context(_caption(migration, result))
    if result is None and answers.reading(question) is not None and subject.kind is SubjectKind.CHECKPOINT:
        _checkpoint_alone(answers, Question.of(Reader.checkpoint_reading, migration.name, subject.name, None))
    return result


def draw(answers: Answers, migration: Offered, subject: Subject, answer: Answered) -> None:
    shown, colours = answer.value, palette.current()
    tone, head, rest = facts_of(answer).answer
    if not shown.partitions:
        hint = "Look at the checkpoint with the command below."
        blocks.empty(terms.said(head), f"{terms.said(rest)} {hint}", "offsetwise inspect CHECKPOINT")
        return
    blocks.box(tone, f"**{terms.said(head)}** {markdown(terms.said(rest))}")
    with st.container(horizontal=True, vertical_alignment="center"):
        why = terms.said("Why, partition by partition")
        message = markdown(terms.said(facts_of(answer).at_new_offsets))
        st.markdown(f"{message} [{why}](#{evidence.ANCHOR})", width="stretch")
        blocks.lead_on("Draft a plan from this", DRAFT_PAGE, migration.address(subject), icon=":material/edit_note:")
    _numbers(answer, colours)
    is_told = any(row.raw.verdict is not RawVerdict.UNKNOWN for row in shown.partitions)
    _metrics(shown.summary, is_told=is_told)
    findings = evidence.findings_of_all(shown)
    _blocking(findings)
    parts: dict[str, Callable[[], None]] = {
        _TABLE: partial(_partitions, answer, colours),
        _LOGS: partial(_picture, answers, migration, subject, answer, colours),
    }
    if not compare_table.in_time(shown.partitions):
        parts[_RECORDS] = partial(_whole_topics, answers, migration, answer)
    parts[f"{_FINDINGS} ({len(findings)})" if findings else _FINDINGS] = partial(_of_all, shown.belongs_to, findings)
    layout.tabs(parts)


@st.fragment
def _whole_topics(answers: Answers, migration: Offered, answer: Answered) -> None:
    with guard.block("reconciliation"):
        reconciliation.draw(answers, migration, facts_of(answer).topics)


@st.fragment
def _partitions(answer: Answered, colours: Palette) -> None:
    with guard.block("partitions"):
        facts = facts_of(answer)
        rows = filtered(answer, compare_table.filters(facts.topics, facts.codes))
        if not rows:
            blocks.empty(terms.said("No partition passes these filters."), "Clear a filter to see more.")
            return
        generator, right = layout.two_columns("evidence", main=3, right=2)
        with generator:
            row = choose(answer, rows, colours)
        with right:
            evidence.draw(answer.value, row)


def _of_all(of: BelongsTo, findings: Sequence[Finding]) -> None:
    owner = (
        f"The positions are those of the {of.cluster} cluster"
        if of.cluster
        else "? Which cluster they belong to is open"
    )
    st.markdown(f":gray[{terms.said(owner)}: {markdown(terms.said(of.reason))}]")
    if findings:
        evidence.findings(findings)
    else:
        st.markdown("✓ Nothing was found about the whole migration. What was found about partitions is in their rows.")


def _blocking(findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.severity is Severity.BLOCKS:
            verdict = verdicts.SEVERITY[finding.severity]
            said = f"**{evidence.linked(finding.code)}** {sentence(finding.message)}"
            st.markdown(f":{verdict.tone.colour}-badge[{verdict}] {said}")


def _checkpoint_alone(answers: Answers, question: Question[CheckpointReading]) -> None:
    with guard.block("checkpoint"):
        offer = blocks.Offer(
            what="the checkpoint alone",
            now="Read the checkpoint alone",
            again="Read the checkpoint again",
            icon=_ICON,
            key="checkpoint-alone",
            at_once=True,
        )
        answer = blocks.live(answers, question, offer)
        if answer is not None:
            evidence.checkpoint_alone(answer.value.checkpoint)


def _caption(migration: Offered, answer: Answered | None) -> str:
    if answer is None:
        return f"{blocks.clusters(migration.old, migration.new)} · not read yet"
    shown = answer.value
    batch = shown.checkpoint.details.progress.committed if shown.checkpoint else None
    committed = "" if batch is None else f" · batch {number(batch)} committed"
    return (
        f"{blocks.clusters(shown.old.name, shown.new.name)}{committed} · "
        f"{markdown(read_at(shown.taken_at, datetime.now(UTC)))}"
    )


def _numbers(answer: Answered, colours: Palette) -> None:
    row = rulers.worst(answer.value.partitions)
    if row is None:
        changes.draw(answer)
        return
    generator, right = layout.two_columns("numbers", main=2, right=3)
    with generator:
        changes.draw(answer)
    with right:
        st.markdown(rulers.in_words(row))
        rulers_of(answer, row, colours, key="worst")


def _metrics(summary: Summary, *, is_told: bool) -> None:
    proven = summary.exact + summary.position_exact + summary.preserved
    unknown_count = summary.unknown + summary.claimed
    blocks.cards(
        (
            counted("Partitions", summary.partitions, "One per partition of the positions, and per new one."),
            counted("Proven", proven, "The position on the new cluster was proven on the records.", Tone.RIGHT),
            counted("Bounded", summary.bounded, verdicts.MEANING[Exactness.BOUNDED], Tone.CAREFUL),
            counted("Unknown", unknown_count, "No position is known, or only claimed by somebody.", Tone.UNKNOWN),
            counted(
                "Skipped if unedited",
                summary.raw_skip if is_told else None,
                "Records never read if the old numbers were used. Only what is proven is added up.",
                Tone.WRONG,
                printed="≥ {:,}".format,
            ),
        )
    )


@st.fragment
def _picture(answers: Answers, migration: Offered, subject: Subject, answer: Answered, colours: Palette) -> None:
    with guard.block("picture"):
        if compare_table.in_time(answer.value.partitions):
            observed = answers.reader.observed(migration.name, subject, answer.value)
            if observed is not None:
                _shards(observed, answer, colours)
                return
        many_lanes = len(answer.value.partitions) > compare_charts.MAX_LANES
        topic = _heat(answer, colours) if many_lanes else None
        _lanes(answer, topic, colours)


def _shards(observed: Comparison, answer: Answered, colours: Palette) -> None:
    blocks.section(_LOGS, shown="Where the job is in each shard")
    shards, figure, takeaway = tree(answer, observed, colours)
    more = "" if len(shards) <= shard_chart.MAX_SHARDS else f" The first {shard_chart.MAX_SHARDS} of {len(shards):,}."
    st.markdown(
        f":gray[● is the position {terms.said('on the old cluster')}, ◆ the one on the new. A shard lies below those "
        "it was made of; pale ones are closed, and a job reads them to their end before it begins the ones below."
        f"{more}]"
    )
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=takeaway, key="shards", theme=None)
    if answer.value.quota is not None:
        st.markdown(f":gray[{quota(answer.value.quota)}]")
    with st.expander("Data"):
        table.draw(compare_table.lane_table(answer, filtered(answer, PartitionFilters())))


def _lanes(answer: Answered, topic: str | None, colours: Palette) -> None:
    rows = of = filtered(answer, PartitionFilters())
    if topic is not None:
        rows, of = of_topic(answer, topic), filtered(answer, PartitionFilters(topics=(topic,)))
    blocks.section(_LOGS, shown=f"Where each partition{f' of {markdown(topic)}' if topic else ''} resumes")
    more = "" if len(of) == len(rows) else f" The {len(rows):,} of {len(of):,} partitions that most need a look."
    st.markdown(
        ":gray[Left: both logs, aligned at the next record to read. Bars are what each cluster holds; ✖ is where the "
        f"old number would land on the new one. Right: the lag on both. Signed log scale.{more}]"
    )
    figure, takeaway = lanes(answer, rows, colours)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=takeaway, key="lanes", theme=None)
    with st.expander("Data"):
        table.draw(compare_table.lane_table(answer, rows))


def _heat(answer: Answered, colours: Palette) -> str:
    facts = facts_of(answer)
    st.header("Where the old numbers would land", anchor=False)
    cut = (
        ""
        if len(facts.topics) <= compare_map.MAX_TOPICS
        else f" The {compare_map.MAX_TOPICS} of {len(facts.topics):,} topics that most need a look."
    )
    st.markdown(
        ":gray[Each cell is a partition: how far from the right position its old number lies on the new cluster. "
        f"Grey: not known.{cut}]"
    )
    figure = heat_map(answer, colours)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=facts.takeaway, key="heat", theme=None)
    with st.expander("Data: topics"):
        table.draw(topic_table(answer))
    return selectors.choice("Topic in the charts below", facts.worst_topics, "chart", width=420)


def choose(answer: Answered, rows: tuple[PartitionComparison, ...], colours: Palette) -> PartitionComparison:
    span = table.page(len(rows))
    page = rows[span]
    ids = selectors.row_names(page, among=answer.value.partitions)
    urgencies = [*map(verdicts.urgency, page)]
    grid = f"partitions-{answer.id}-{span.start}-{abs(hash(ids))}"
    selection = Selection(key="row", grid=grid, names=ids, first=urgencies.index(min(urgencies)))
    selection.draw(
        compare_table.partition_table(answer, page, colours),
        alt=terms.said(
            f"{many(len(page), 'partition')} with old and new offset, exactness, and what the old number would do."
        ),
    )
    _downloads(answer, rows)
    return page[selection.choose("Evidence of", width=320)]


def _downloads(answer: Answered, rows: tuple[PartitionComparison, ...]) -> None:
    shown = part(len(rows), len(answer.value.partitions), terms.said("partition"))
    with downloads.to_the_right_of(f":gray[{shown}. Select a row to see its proof.]"):
        for text, make in (
            ("CSV", lambda: compare_table.csv(rows)),
            ("JSON", lambda: compare_table.json(answer.value, rows)),
        ):
            downloads.button(
                text,
                f"comparison.{text.lower()}",
                make,
                key=f"download-{text}",
                says=f"The rows shown, as {text}.",
            )


@cached(16)
def facts_of(answer: Answered) -> ComparisonFacts:
    shown = answer.value
    return ComparisonFacts(
        answer=verdicts.answer(shown),
        at_new_offsets=verdicts.at_new_offsets(shown),
        topics=tuple(sorted({row.topic for row in shown.partitions})),
        worst_topics=tuple(compare_map.worst_topics(shown.partitions)),
        codes=tuple(sorted({code for row in shown.partitions for code in row.findings})),
        takeaway=compare_map.heat_in_words(shown.partitions) if shown.partitions else "",
    )


def of_topic(answer: Answered, topic: str) -> Rows:
    """Return the partitions of a topic in log order; of more than a chart can show, the most urgent ones."""
    rows = filtered(answer, PartitionFilters(topics=(topic,)))
    worst = sorted(rows, key=verdicts.urgency)[: compare_charts.MAX_LANES]
    return tuple(sorted(worst, key=lambda row: (row.partition, row.source)))


def rulers_of(answer: Answered, row: PartitionComparison, colours: Palette, *, key: str) -> None:
    figure = _rulers(answer, (row,), colours)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=plain(rulers.in_words(row)), key=key, theme=None)


@cached(64)
def _rulers(answer: Answered, rows: Rows, colours: Palette) -> Any:  # noqa: ARG001 - the key
    return rulers.rulers(rows[0], colours)


@cached(64)
def lanes(answer: Answered, rows: Rows, colours: Palette, *, lag: bool = True) -> tuple[Any, str]:  # noqa: ARG001 - the key
    said = compare_charts.logs_in_words(rows)
    if lag:
        said += f" {compare_charts.lags_in_words(rows)}"
    return compare_charts.lanes(rows, colours, lag=lag), said


@cached(16)
def tree(answer: Answered, _observed: Comparison, colours: Palette) -> tuple[tuple[shard_chart.Shard, ...], Any, str]:
    rows = answer.value.partitions
    topics = [{topic.name: topic for topic in snapshot.topics} for snapshot in _observed.snapshots]
    names = sorted({(row.topic, row.new_topic) for row in rows})
    shards = shard_chart.shards_of([(topics[0].get(old), topics[1].get(new)) for old, new in names])
    marks = shard_chart.marks_of(rows)
    return shards, shard_chart.tree(shards, colours, marks), shard_chart.takeaway(shards, marks)


@cached(16)
def heat_map(answer: Answered, colours: Palette) -> Any:
    return compare_map.heat_map(answer.value.partitions, colours)


@cached(16)
def topic_table(answer: Answered) -> table.Prepared:
    return table.prepared(compare_map.TOPICS, compare_map.topics(answer.value.partitions))
