"""The proof of one partition, in the order in which a person asks: why, what it costs, who else says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console import frames, table
from offsetwise.console.escaping import markdown, plain
from offsetwise.console.explained import linked
from offsetwise.console.figures import partition_name
from offsetwise.model import Checkpoint, Comparison, Exactness, Finding, PartitionComparison, Side
from offsetwise.wording import many, number, verdicts

ANCHOR: Final = "evidence"
"""What a link within the page names."""
_FACTS_PX: Final = 560
_NEIGHBOUR_WIDTHS: Final = {"old offset": 84, "new offset": 84, "time (UTC)": 190, "identity": 84, "for the job": 100}


def draw(shown: Comparison, row: PartitionComparison) -> None:
    """Draw everything that is known about one partition."""
    st.subheader(f"Evidence · {markdown(partition_name(row))}", anchor=ANCHOR)
    for facts, words in ((_around, _why), (_at_old_number, _cost)):
        with st.container(horizontal=True, gap="large"):
            with st.container(width=_FACTS_PX):
                facts(row)
            with st.container():
                words(row)
    _others(row)
    _findings(shown, row)
    _ids(shown, row)


def checkpoint_alone(found: Checkpoint) -> None:
    """Show what the checkpoint says, when the clusters could not be read."""
    st.subheader("What the checkpoint says on its own", anchor=False)
    st.markdown(markdown(found.restart))
    table.plain(frames.position_table(found), alt="Positions of the checkpoint by topic and partition.", missing="none")


def _around(row: PartitionComparison) -> None:
    place = f"{number(row.old_offset)} on old" if row.old_offset is not None else "no position on old"
    target = "no place known on new" if row.new_offset is None else f"{number(row.new_offset)} on new"
    target += "" if row.new_topic == row.topic else f" (there {markdown(row.new_topic)})"
    st.markdown(f"**Around the position** · {place}, {target}")
    near = row.evidence.neighbours
    if not near:
        st.markdown(":gray[No records were read around this position.]")
        return
    first = next((record for record in near if record.side is Side.UNREAD), None)
    table.plain(
        frames.neighbour_table(near, first=first, word="next"),
        alt=f"Records around the position of {partition_name(row)} on both clusters.",
        widths=_NEIGHBOUR_WIDTHS,
    )
    _restart(row)


def _why(row: PartitionComparison) -> None:
    verdict = verdicts.EXACTNESS[row.exactness]
    known = f"**Why {number(row.new_offset)}** · {verdicts.METHOD[row.method]}"
    title = "**Why there is no answer**" if row.new_offset is None else known
    st.markdown(f"{title} :{verdict.tone.colour}-badge[{verdict}]")
    st.markdown(verdicts.MEANING[row.exactness])
    statements = [row.evidence.reason, *row.evidence.statements]
    if row.exactness is Exactness.BOUNDED:
        statements.append(f"It lies between {number(row.bounds[0])} and {number(row.bounds[1])}.")
    st.markdown("\n".join(f"- {markdown(text)}" for text in dict.fromkeys(statements) if text))
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


def _at_old_number(row: PartitionComparison) -> None:
    if row.old_offset is None:
        return
    st.markdown(f"**What the old number would read** · {number(row.old_offset)} on new")
    found = row.evidence.at_raw
    if not found:
        st.markdown(":gray[No record was read there.]")
        return
    first = next((r for r in found if r.new_offset is not None and r.new_offset >= row.old_offset), None)
    table.plain(
        frames.neighbour_table(found, first=first, word="first"),
        alt=f"Records around the old number of {partition_name(row)} on the new cluster.",
        widths=_NEIGHBOUR_WIDTHS,
    )


def _cost(row: PartitionComparison) -> None:
    if row.old_offset is None:
        return
    verdict = verdicts.raw(row)
    st.markdown(f"**If nobody edits it** :{verdict.tone.colour}-badge[{verdict}]")
    st.markdown(verdicts.consequence(row))


def _others(row: PartitionComparison) -> None:
    st.markdown(f"**What MirrorMaker itself would answer:** {verdicts.mirror_maker(row)}")
    if row.evidence.candidates:
        st.markdown("**What else points there** · places to look, not answers")
        rows = "".join(
            f"| {one.method} | {number(one.lo)} | {number(one.hi)} | {markdown(one.said_by)} |\n"
            for one in row.evidence.candidates
        )
        st.markdown(f"| method | from | to | who says so |\n|---|---:|---:|---|\n{rows}")


def findings(found: Sequence[Finding]) -> None:
    """Draw findings with what to do about each."""
    for finding in found:
        verdict = verdicts.SEVERITY[finding.severity]
        with st.container(border=True):
            st.markdown(
                f":{verdict.tone.colour}-badge[{verdict}] **{linked(finding.code)}**  \n"
                f"{markdown(finding.message)}  \n**What to do:** {markdown(finding.remedy)}"
            )


def _findings(shown: Comparison, row: PartitionComparison) -> None:
    found = frames.findings_of(shown, row)
    if found:
        st.markdown("**Findings**")
        findings(found)


def _restart(row: PartitionComparison) -> None:
    if len(row.restart) > 1:
        ends = " · ".join(
            f"{'start' if point.batch is None else f'batch {point.batch}'} at {number(point.old)} → {number(point.new)}"
            for point in row.restart
        )
        st.markdown(f":gray[A restart uses more than one position: {ends}]")


def _ids(shown: Comparison, row: PartitionComparison) -> None:
    with st.expander("Identifiers, to copy"):
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
                st.markdown(title)
                st.code("\n".join(plain(line) for line in value.split("\n")), language=None, wrap_lines=True)
