"""The proof of one partition, in the order in which a person asks: why, what it costs, what other sources say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import streamlit as st

from offsetwise.console.widgets import layout, table, terms
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.shards import SHARDS, Shards
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.findings import register
from offsetwise.model import (
    Checkpoint,
    Comparison,
    CopiedRecord,
    Exactness,
    Finding,
    Neighbour,
    PartitionComparison,
    PartProof,
    Severity,
    Side,
    SourcePosition,
)
from offsetwise.position import OpaquePosition, Position
from offsetwise.translation.alternatives import alternatives
from offsetwise.wording import brief, many, number, verdicts
from offsetwise.wording.time_lag import parts

ANCHOR: Final = "evidence"
"""Anchor of the proof within the page."""
TITLE: Final = "Evidence"
MAX_NOTES: Final = 12
_POSITIONS: Final[Columns[SourcePosition]] = (
    Column("topic", lambda position: position.topic),
    table.partition(lambda position: position.partition),
    Column("old offset", lambda position: position.offset),
    Column("planned until", lambda position: position.planned_offset),
)


def draw(shown: Comparison, row: PartitionComparison) -> None:
    st.header(f"{TITLE} · {markdown(str(row.topic_partition))}", anchor=ANCHOR)
    if row.old_offset is not None:
        verdict = verdicts.raw(row)
        st.markdown(f"**If nobody edits it** :{verdict.tone.colour}-badge[{verdict}]")
        st.markdown(verdicts.consequence(row))
    problems = findings_of(shown, row)
    parts: dict[str, Callable[[], None]] = {"Proof": partial(_proof, row)}
    if row.old_offset is not None and not verdicts.of_another_stream(row):
        parts["At the old number"] = partial(_at_old_number, row, row.old_offset)
    parts["Other sources"] = partial(_others, row)
    if problems:
        parts[f"Findings ({len(problems)})"] = partial(findings, problems)
    parts["Identifiers"] = partial(_ids, shown, row)
    layout.tabs(parts)


def checkpoint_alone(checkpoint: Checkpoint) -> None:
    st.header("What the checkpoint says on its own", anchor=False)
    st.markdown(markdown(checkpoint.restart))
    shards = Shards(checkpoint)
    if shards:
        table.paged(SHARDS, shards, "shards-alone", alt="Positions of the checkpoint by shard.", missing="–")
    positions = [position for source in checkpoint.sources for position in source.positions]
    if positions or not shards:
        table.show(_POSITIONS, positions, alt="Positions of the checkpoint by topic and partition.", missing="none")


def _around(row: PartitionComparison) -> None:
    if any(isinstance(position, OpaquePosition) for position in (row.old_offset, row.new_offset)):
        _in_shards(row)
    else:
        origin = f"{number(row.old_offset)} on old" if row.old_offset is not None else "no position on old"
        target = "no position known on new" if row.new_offset is None else f"{number(row.new_offset)} on new"
        target += "" if row.new_topic == row.topic else f" (there {markdown(row.new_topic)})"
        st.markdown(f"**Around the position** · {origin}, {target}")
    near = row.evidence.neighbours
    if not near:
        counted = "Records were read and counted; none of them is listed."
        st.markdown(f":gray[{counted if row.counted else 'No records were read around this position.'}]")
        return
    first = next((record for record in near if record.side is Side.UNREAD), None)
    table.show(
        neighbours(first, "next"), near, alt=f"Records around the position of {row.topic_partition} on both clusters."
    )
    if len(row.restart) > 1:
        ends = " · ".join(
            f"{'start' if point.batch is None else f'batch {point.batch}'} at {number(point.old)} → {number(point.new)}"
            for point in row.restart
        )
        st.markdown(f":gray[A restart uses more than one position: {ends}]")


def _in_shards(row: PartitionComparison) -> None:
    position = row.new_offset
    old = [] if row.old_offset is None else parts(row.topic_partition, row.old_offset, row.behind_old, row.behind_parts)
    new = [number(position)] if isinstance(position, int) else ["no position known"]
    if isinstance(position, OpaquePosition):
        new = parts(row.new_topic_partition, position, row.behind_new, ())
    there = "" if row.new_topic == row.topic else f" (there {markdown(row.new_topic)})"
    for title, sentences in (("The position on old", old or ["no position"]), (f"The position on new{there}", new)):
        st.markdown(f"**{title}**\n" + "".join(f"\n- {markdown(line)}" for line in sentences))


def _proof(row: PartitionComparison) -> None:
    verdict = verdicts.EXACTNESS[row.exactness]
    known = f"**Why {brief(row.new_offset)}** · {verdicts.METHOD[row.method]}"
    title = "**Why there is no answer**" if row.new_offset is None else known
    st.markdown(f"{title} :{verdict.tone.colour}-badge[{verdict}]")
    st.markdown(terms.said(verdicts.meaning(row.exactness, row.ahead)))
    statements = [row.evidence.reason, *row.evidence.statements]
    if row.exactness is Exactness.BOUNDED:
        low, high = row.bounds
        between = f"at or above {number(low)}" if high is None else f"between {number(low)} and {number(high)}"
        statements.append(f"It lies {between}.")
    st.markdown("\n".join(f"- {sentence(text)}" for text in dict.fromkeys(statements) if text))
    choices = alternatives(row)
    if choices:
        st.markdown("**Two answers, each with its price.** Draft takes either, with its reason filled in:")
        st.markdown("\n".join(f"- **{number(choice.offset)}**, {choice.name}: {choice.price}." for choice in choices))
    if row.counted or row.evidence.new_records_read:
        identity = (
            f" A record is named by a salted hash of {markdown(row.evidence.identity)}."
            if row.evidence.identity
            else ""
        )
        st.markdown(
            f":gray[{many(row.evidence.old_records_read, 'record')} read on old, "
            f"{number(row.evidence.new_records_read)} on new.{identity}]"
        )
    _around(row)


def _at_old_number(row: PartitionComparison, old: Position) -> None:
    st.markdown(f"**What the old number would read** · {number(old)} on new")
    records = row.evidence.at_raw
    if not records:
        st.markdown(":gray[No record was read there.]")
        return
    first = next((r for r in records if r.new_offset is not None and r.new_offset >= old), None)
    table.show(
        neighbours(first, "first"),
        records,
        alt=f"Records around the old number of {row.topic_partition} on the new cluster.",
    )


def _others(row: PartitionComparison) -> None:
    if not isinstance(row.old_offset, OpaquePosition):
        st.markdown(f"**What MirrorMaker itself would answer:** {verdicts.mirror_maker(row)}")
    if row.evidence.candidates:
        st.markdown("**What else points there** · where to look, not answers")
        rows = "".join(
            f"| {candidate.method} | {number(candidate.lo)} | {number(candidate.hi)} | {markdown(candidate.said_by)} "
            "|\n"
            for candidate in row.evidence.candidates
        )
        st.markdown(f"| method | from | to | who says so |\n|---|---:|---:|---|\n{rows}")


def findings(problems: Sequence[Finding]) -> None:
    for finding in problems:
        verdict = verdicts.SEVERITY[finding.severity]
        with st.container(border=True):
            st.markdown(
                f":{verdict.tone.colour}-badge[{verdict}] **{linked(finding.code)}**  \n"
                f"{sentence(finding.message)}  \n**What to do:** {sentence(finding.remedy)}"
            )


def _ids(shown: Comparison, row: PartitionComparison) -> None:
    checkpoint = shown.checkpoint
    for title, value in (
        ("old cluster id", shown.old.cluster_id),
        ("new cluster id", shown.new.cluster_id),
        ("checkpoint", checkpoint.uri if checkpoint else None),
        ("query or job id", checkpoint.job_id if checkpoint else None),
        ("group", shown.group),
        ("salt of the identities", row.evidence.salt or None),
        ("old offset", None if row.old_offset is None else str(row.old_offset)),
        ("new offset", None if row.new_offset is None else str(row.new_offset)),
        (
            "identities, in the order above",
            "\n".join(record.identity for record in row.evidence.neighbours) or None,
        ),
    ):
        if value is not None:
            st.markdown(terms.said(title))
            st.code("\n".join(plain(line) for line in value.split("\n")), language=None, wrap_lines=True)


def neighbours(first: Neighbour | None, word: str) -> Columns[Neighbour]:
    """Return the columns of a table of the records around a position.

    Args:
        first: The record that reading would begin with, marked by `word`.
        word: Its label.
    """
    return (
        Column("old offset", lambda record: record.old_offset, 76),
        Column("new offset", lambda record: record.new_offset, 80),
        Column("for the job", lambda record: f"{record.side}, {word}" if record is first else str(record.side), 88),
        Column("identity", lambda record: record.identity[:8], 76),
        Column("time (UTC)", lambda record: Time(record.timestamp_ms), 172),
    )


Copied = tuple[int, Side, CopiedRecord]
"""The old partition of a record, its meaning for the job, and its offsets on both clusters."""


def copied(proofs: Sequence[PartProof]) -> list[Copied]:
    return [
        (part.partition, side, record)
        for part in proofs
        for side, record in ((Side.READ, part.before), (Side.UNREAD, part.after))
        if record is not None
    ]


def copied_records() -> Columns[Copied]:
    return (
        Column("of", lambda row: row[0], 40),
        Column("old position", lambda row: row[2].old, 110),
        Column("new position", lambda row: row[2].new, 110),
        Column("identity", lambda row: row[2].identity[:8], 84),
        Column("for the job", lambda row: str(row[1]), 100),
    )


def findings_of(comparison: Comparison, row: PartitionComparison) -> tuple[Finding, ...]:
    return tuple(
        finding
        for finding in comparison.findings
        if finding.topic in (row.topic, row.new_topic) and finding.partition in (None, row.partition)
    )


def findings_of_all(comparison: Comparison) -> tuple[Finding, ...]:
    """Return the findings that concern no single topic, blocking ones first."""
    of_all = [finding for finding in comparison.findings if finding.topic is None]
    return tuple(finding for severity in Severity for finding in of_all if finding.severity is severity)


def linked(code: str) -> str:
    r"""Return a code as Markdown, linked to its explanation on the Help page if this release has one.

    >>> linked("PENDING_BATCH"), linked("OF_LATER")
    ('[PENDING\\_BATCH](help?code=PENDING_BATCH)', 'OF\\_LATER')
    """
    return f"[{markdown(code)}](help?code={code})" if code in register.findings() else markdown(code)


def notes(title: str, said: Iterable[tuple[str, str]]) -> None:
    """Draw each sentence once, the most frequent first, with its subject and its number of rows."""
    counted = Counter((about, text) for about, text in said if text).most_common()
    if not counted:
        return
    rows = sum(count for _, count in counted)
    with st.container(gap=None):
        st.markdown(f":gray[{title}:]")
        for (about, text), count in counted[:MAX_NOTES]:
            name = f"**{markdown(about)}**: " if about else ""
            amount = "" if len(counted) == 1 else f" :gray[({many(count, 'row')} of {rows:,})]"
            st.markdown(f"- {name}{sentence(text)}{amount}")
        if len(counted) > MAX_NOTES:
            st.markdown(f":gray[and {len(counted) - MAX_NOTES:,} more, in the table.]")
