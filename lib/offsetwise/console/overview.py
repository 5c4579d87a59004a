"""The Overview screen: what this is, what was found, and where to go next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import blocks, derived, figures, guard, waiting
from offsetwise.console.desk import ComparisonOf, Desk, Held, Offered, SubjectKind
from offsetwise.console.escaping import markdown
from offsetwise.model import Comparison, PartitionComparison, RawVerdict
from offsetwise.wording import many, number

COMPARE_PAGE: Final = "pages/explore/compare.py"
_OF_MIGRATION: Final = (
    ("Clusters", ":material/hub:", "pages/explore/clusters.py"),
    ("Fleet", ":material/folder_copy:", "pages/operate/fleet.py"),
)
_LAG: Final = ("Lag", ":material/show_chart:", "pages/explore/lag.py")
_CHECKPOINT: Final = ("Checkpoint", ":material/save:", "pages/explore/checkpoint.py")
_PATH: Final = (
    (
        ":material/search:",
        "1 · Explore",
        "See every partition on both clusters, with its proof and its cost. You are here.",
        COMPARE_PAGE,
    ),
    (
        ":material/edit_note:",
        "2 · Plan",
        "Decide how the job moves: keep its state, or start anew. Draft makes a plan from what was compared, and "
        "submits it; `offsetwise draft` does the same.",
        "pages/plan/draft.py",
    ),
    (
        ":material/fact_check:",
        "3 · Review",
        "A second person agrees to exactly that plan, here or with `offsetwise sign`. Only then `offsetwise apply` "
        "writes anything, never this console.",
        "pages/plan/review.py",
    ),
)


def draw(desk: Desk) -> None:
    """Draw the whole screen."""
    st.markdown(
        "When the Kafka cluster under a streaming job changes, **offsets do not carry over**. Offsetwise reads the "
        "job's checkpoint and both clusters, finds where every partition must resume, and proves it on the records "
        "themselves."
    )
    live = [one for one in desk.offered if not one.recorded]
    samples = [one for one in desk.offered if one.recorded]
    with guard.block("waiting"):
        waiting.draw()
    if live:
        _totals(desk, live)
        st.subheader("Your migrations", anchor=False)
        for migration in live:
            _migration(desk, migration)
    if samples:
        st.subheader("The sample migration" if live else "Start here: the sample migration", anchor=False)
        _case(desk, samples[0])
        _migration(desk, samples[0])
    for sample in samples[1:]:
        _same_case(desk, sample)
        _migration(desk, sample)
    if not live:
        blocks.empty(
            "To look at your own migration",
            "Describe both clusters and the checkpoints in a file, then start the console with it. Nothing is read "
            "before you ask.",
            "offsetwise console --migration migration.yaml",
        )
    st.subheader("The path", anchor=False)
    with st.container(horizontal=True):
        for icon, title, text, page in _PATH:
            with st.container(border=True, height="stretch"):
                st.markdown(f"{icon} **{title}**  \n{text}")
                st.page_link(Path(page), label=title.rpartition(" ")[2], icon=":material/arrow_forward:")


def _totals(desk: Desk, migrations: list[Offered]) -> None:
    keys = [ComparisonOf(migration=one.name, subject=subject) for one in migrations for subject in one.subjects]
    held = [found.value for found in map(desk.held, keys) if found is not None]
    kinds = Counter(key.subject.kind for key in keys)
    cards = [("Checkpoints", number(kinds[SubjectKind.CHECKPOINT])), ("Groups", number(kinds[SubjectKind.GROUP]))]
    if held:
        cards += [
            ("Compared", f"{number(len(held))} of {number(len(keys))}"),
            ("Partitions that would go wrong", number(sum(one.summary.raw_wrong for one in held))),
            ("Skipped if unedited", f"≥ {number(sum(one.summary.raw_skip for one in held))}"),
        ]
    with st.container(horizontal=True):
        for label, value in cards:
            st.metric(label, value, border=True)


def _case(desk: Desk, sample: Offered) -> None:
    found = _example(desk, sample)
    if found is None:
        return
    key, held, row = found
    name = markdown(figures.partition_name(row))
    skip = "records" if row.raw.skip is None else many(row.raw.skip, "record")
    st.markdown(
        f"The job read **{name}** up to **{number(row.old_offset)}** on the old cluster. The same record sits at "
        f"**{number(row.new_offset)}** on the new one. Restarted at {number(row.old_offset)} there, it would never "
        f"read **{skip}**, and no error would tell."
    )
    figure, takeaway = derived.lanes(held, (row,), guard.colours(), lag=False)
    st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=takeaway, key="case", theme=None)
    if st.button("Open the sample", type="primary", icon=":material/compare_arrows:"):
        st.switch_page(COMPARE_PAGE, query_params=_address(key))


def _same_case(desk: Desk, sample: Offered) -> None:
    """Say in a line that another engine meets the same case."""
    found = _example(desk, sample)
    if found is None:
        return
    key, held, row = found
    checkpoint = held.value.checkpoint
    engine = "other" if checkpoint is None else checkpoint.engine.capitalize()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**The same for {markdown(engine)}.** {markdown(figures.partition_name(row))} stands at "
            f"**{number(row.old_offset)}** in the job's checkpoint, and belongs at **{number(row.new_offset)}** on the "
            "new cluster.",
            width="stretch",
        )
        if st.button(f"Open the {engine} sample", icon=":material/compare_arrows:"):
            st.switch_page(COMPARE_PAGE, query_params=_address(key))


def _example(desk: Desk, sample: Offered) -> tuple[ComparisonOf, Held[Comparison], PartitionComparison] | None:
    for subject in sample.subjects:
        key = ComparisonOf(migration=sample.name, subject=subject)
        held = desk.held(key)
        if held is None:
            continue
        for row in held.value.partitions:
            if row.raw.verdict is RawVerdict.LOSS and row.exactness.proven:
                return key, held, row
    return None


def _migration(desk: Desk, migration: Offered) -> None:
    with st.container(border=True):
        where = "recorded from two real clusters; nothing to set up" if migration.recorded else "live"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{markdown(migration.name)}** · {markdown(migration.old)} :material/arrow_forward: "
                f"{markdown(migration.new)} · :gray[{where}]",
                width="stretch",
            )
            _links(_OF_MIGRATION, {"migration": migration.name})
        if not migration.subjects:
            st.markdown("The migration file names no checkpoint and no group. Add one under `checkpoints` or `groups`.")
        for subject in migration.subjects:
            _subject(desk, ComparisonOf(migration=migration.name, subject=subject))


def _subject(desk: Desk, key: ComparisonOf) -> None:
    try:
        held = desk.held(key)
    except Exception as error:  # noqa: BLE001 - one broken recording must not blank the others
        blocks.failed(error, key=f"{key.migration}-{key.subject}")
        return
    is_checkpoint = key.subject.kind is SubjectKind.CHECKPOINT
    with st.container(horizontal=True, vertical_alignment="center"):
        icon = "save" if is_checkpoint else "group"
        st.markdown(f":material/{icon}: **{markdown(str(key.subject))}**", width="stretch")
        compare = ("Open" if held else "Compare", ":material/compare_arrows:", COMPARE_PAGE)
        _links(((_CHECKPOINT,) if is_checkpoint else ()) + (_LAG, compare), _address(key))
    st.markdown(_verdict(desk, key) if held is None else _answer(held))


def _links(links: Sequence[tuple[str, str, str]], address: Mapping[str, str]) -> None:
    for label, icon, page in links:
        st.page_link(Path(page), label=label, icon=icon, query_params=dict(address))


def _answer(held: Held[Comparison]) -> str:
    tone, head, rest = derived.facts(held).answer
    icon = {"right": "✓", "wrong": "!", "careful": "?", "unknown": "?"}[tone.value]
    return f":{tone.colour}-badge[{icon} {head}] {markdown(rest)}"


def _verdict(desk: Desk, key: ComparisonOf) -> str:
    reading = desk.reading(key)
    if reading is None:
        return ":gray[? not compared yet]"
    return ":gray[being read now …]" if not reading.outcome.done() else ":red-badge[! the last attempt failed]"


def _address(key: ComparisonOf) -> dict[str, str]:
    return {"migration": key.migration, "of": str(key.subject)}
