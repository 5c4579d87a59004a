"""The proof of one partition, in the order in which a person asks: why, what else says so, what the old number costs."""

from __future__ import annotations

import streamlit as st

from offsetwise.console import blocks, frames, table, verdicts
from offsetwise.console.desk import Desk, Key
from offsetwise.console.figures import partition_name
from offsetwise.console.wording import many, markdown, number, plain
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Comparison, Exactness, PartitionComparison


def draw(shown: Comparison, row: PartitionComparison) -> None:
    """Draw everything that is known about one partition."""
    name = partition_name(row)
    st.subheader(f"Evidence · {markdown(name)}", anchor=False)
    left, right = st.columns([5, 4], gap="large")
    with left:
        _around(row)
    with right:
        _why(row)
    _old_number(row)
    _others(row)
    _findings(shown, row)
    _ids(shown, row)


def checkpoint_alone(desk: Desk, key: Key) -> None:
    """Show what the checkpoint says, when the clusters could not be read."""
    try:
        found = desk.checkpoint(key)
    except OffsetwiseError as error:
        blocks.failed(error, key="checkpoint")
        return
    if found is None:
        return
    st.subheader("What the checkpoint says on its own", anchor=False)
    st.markdown(markdown(found.restart))
    table.plain(frames.position_table(found), alt="Positions of the checkpoint by topic and partition.")


def _around(row: PartitionComparison) -> None:
    place = f"**{number(row.old_offset)}** on old" if row.old_offset is not None else "no position on old"
    target = "no place known on new" if row.new_offset is None else f"**{number(row.new_offset)}** on new"
    st.markdown(f"Records around {place} · {target}")
    if row.evidence.neighbours:
        table.plain(
            frames.neighbour_table(row.evidence.neighbours),
            alt=f"Records around the position of {partition_name(row)} on both clusters.",
            widths={"old offset": 100, "new offset": 100, "time (UTC)": 200, "identity": 90, "for the job": 90},
        )
        made_of = f" Identity: {markdown(row.evidence.identity)}." if row.evidence.identity else ""
        st.markdown(f":gray[Payloads are never shown; a record is named by a salted hash.{made_of}]")
    else:
        st.markdown(":gray[No records were read around this position.]")


def _why(row: PartitionComparison) -> None:
    verdict = verdicts.EXACTNESS[row.exactness]
    title = f"Why {number(row.new_offset)}" if row.new_offset is not None else "Why there is no answer"
    st.markdown(f"**{title}** · {verdict}")
    st.markdown(f":gray[{verdicts.MEANING[row.exactness]}]")
    statements = [row.evidence.reason, *row.evidence.statements]
    if row.exactness is Exactness.BOUNDED:
        statements.append(
            f"Proven to lie between {number(row.bounds[0])} and {number(row.bounds[1])}; the lower one is used."
        )
    st.markdown("\n".join(f"- {markdown(text)}" for text in dict.fromkeys(statements) if text))
    if row.counted or row.evidence.new_records_read:
        st.markdown(
            f":gray[{many(row.evidence.old_records_read, 'record')} read on old, "
            f"{many(row.evidence.new_records_read, 'record')} on new.]"
        )


def _old_number(row: PartitionComparison) -> None:
    if row.old_offset is None:
        return
    verdict = verdicts.raw(row)
    st.markdown(f"**What would be read at {number(row.old_offset)} on new** · {verdict}")
    if row.evidence.at_raw:
        table.plain(
            frames.neighbour_table(row.evidence.at_raw),
            alt=f"Records around the old number of {partition_name(row)} on the new cluster.",
            widths={"old offset": 100, "new offset": 100, "time (UTC)": 200, "identity": 90, "for the job": 90},
        )
    else:
        st.markdown(":gray[No record was read there: the number lies outside the log, or records were not read.]")


def _others(row: PartitionComparison) -> None:
    st.markdown(f"**What others say** · {_mirror_maker(row)}")
    if row.evidence.candidates:
        table.plain(
            frames.candidate_table(row.evidence.candidates),
            alt="Where syncs, checkpoints and timestamps say the place is.",
            widths={"method": 130, "from": 90, "to": 90, "who says so": 520},
        )


def _mirror_maker(row: PartitionComparison) -> str:
    answer = row.mirror_maker
    if answer is None:
        return "MirrorMaker itself has no answer."
    if row.new_offset is None:
        return f"MirrorMaker itself would answer {number(answer)}; no record confirms it."
    if answer == row.new_offset:
        return f"MirrorMaker itself would answer {number(answer)}, the same."
    if answer < row.new_offset:
        return f"MirrorMaker itself would answer {number(answer)}, {many(row.new_offset - answer, 'offset')} earlier."
    return f"MirrorMaker itself would answer {number(answer)}, {many(answer - row.new_offset, 'offset')} too late."


def _findings(shown: Comparison, row: PartitionComparison) -> None:
    found = frames.findings_of(shown, row)
    if not found:
        return
    st.markdown("**Findings**")
    for finding in found:
        verdict = verdicts.SEVERITY[finding.severity]
        with st.container(border=True):
            st.markdown(
                f":{verdict.tone.badge}-badge[{verdict}] **{markdown(finding.code)}**  \n{markdown(finding.message)}  \n"
                f"**What to do:** {markdown(finding.remedy)}"
            )


def _ids(shown: Comparison, row: PartitionComparison) -> None:
    with st.expander("Identifiers, to copy"):
        checkpoint = shown.checkpoint
        for title, value in (
            ("old cluster id", shown.old.cluster_id),
            ("new cluster id", shown.new.cluster_id),
            ("checkpoint", checkpoint.uri if checkpoint else None),
            ("query id", checkpoint.job_id if checkpoint else None),
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
                st.code("\n".join(plain(line) for line in value.split("\n")), language=None)
