"""The Overview screen: what this is, what was read, what waits for the person, and where to go next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.answers import Answers, CachedAnswer, Question, comparing_all
from offsetwise.console.explore import compare
from offsetwise.console.jobs import table as jobs
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, palette
from offsetwise.console.widgets.blocks import Card, counted
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.engines.registry import keeper_of
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Comparison, PartitionComparison, RawVerdict, SubjectKind
from offsetwise.position import offset_or_none
from offsetwise.review.sheet import Waiting
from offsetwise.store.review_rows import State
from offsetwise.wording import duration, many, number
from offsetwise.wording.terms import in_words
from offsetwise.wording.verdicts import Tone

COMPARE_PAGE: Final = "pages/explore/compare.py"
_OF_MIGRATION: Final = (
    ("Clusters", ":material/hub:", "pages/explore/clusters.py"),
    ("Fleet", ":material/folder_copy:", "pages/operate/fleet.py"),
)
_LAG: Final = ("Lag", ":material/show_chart:", "pages/explore/lag.py")
_CHECKPOINT: Final = ("Checkpoint", ":material/save:", "pages/explore/checkpoint.py")
_PATH: Final = (
    (
        ":material/compare_arrows:",
        "1 · Explore",
        "See for every partition where it must resume, with the proof and the cost.",
        "Compare",
        COMPARE_PAGE,
    ),
    (
        ":material/edit_note:",
        "2 · Plan",
        "Decide how the job moves, and submit a plan. `offsetwise draft` does the same.",
        "Draft",
        "pages/plan/draft.py",
    ),
    (
        ":material/fact_check:",
        "3 · Review",
        "A second person approves exactly that plan, here or with `offsetwise sign`.",
        "Review",
        "pages/plan/review.py",
    ),
    (
        ":material/download:",
        "4 · Apply",
        "Take the approved plan to where `offsetwise apply` writes it. This console never writes to a cluster.",
        "Export",
        "pages/plan/export.py",
    ),
)
"""Icon, title, description, and the page's name and file."""
_Example = tuple[dict[str, str], CachedAnswer[Comparison], PartitionComparison]
REVIEW: Final = "pages/plan/review.py"
_SHOWN: Final = 20
_LOOK_S: Final = 1.0
_ALL: Final = blocks.Offer(
    what="all jobs",
    now="Compare all",
    again="Compare all again",
    icon=":material/compare_arrows:",
    key="all",
    stop="Stop comparing",
)


def draw(answers: Answers) -> None:
    st.markdown(
        "When the Kafka cluster under a streaming job changes, **offsets do not carry over**. Offsetwise reads the "
        "job's checkpoint and both clusters, finds where every partition must resume, and proves it on the records "
        "themselves."
    )
    _path()
    live = [offered for offered in answers.offered if not offered.recorded]
    samples = [offered for offered in answers.offered if offered.recorded]
    with guard.block("waiting"):
        _waiting()
    if live:
        _totals(answers, live)
        st.header("Your migrations", anchor=False)
        for migration in live:
            _migration(answers, migration)
    if live and samples:
        with st.expander(f"{many(len(samples), 'bundled sample migration')}, recorded: nothing to set up"):
            _samples(answers, samples)
    elif samples:
        st.header("Start here: the sample migration", anchor=False)
        _samples(answers, samples)
    if not live:
        blocks.empty(
            "To look at your own migration",
            "`init` finds checkpoints, groups and topics, and writes them into a file that you read through; the "
            "console starts with it, and reads nothing before you ask.",
            "offsetwise init --old HOST:PORT --new HOST:PORT --checkpoints FOLDER --out migration.yaml\n"
            "offsetwise console --migration migration.yaml",
        )


def _path() -> None:
    columns = st.columns(len(_PATH), border=True)
    for column, (icon, title, text, name, page) in zip(columns, _PATH, strict=True):
        with column:
            st.markdown(f"**{title}**  \n{text}")
            st.page_link(Path(page), label=f"Open {name}", icon=icon)


def _samples(answers: Answers, samples: Sequence[Offered]) -> None:
    _case(answers, samples[0])
    _migration(answers, samples[0])
    for sample in samples[1:]:
        _same_case(answers, sample)
        _migration(answers, sample)


def _totals(answers: Answers, migrations: list[Offered]) -> None:
    keys = [
        Question.of(Reader.comparison, migration.name, subject)
        for migration in migrations
        for subject in migration.subjects
    ]
    comparisons = [answer.value for answer in map(answers.cached, keys) if answer is not None]
    kinds = Counter(subject.kind for migration in migrations for subject in migration.subjects)
    cards = [
        Card("Checkpoints", number(kinds[SubjectKind.CHECKPOINT]), "Those that the migration files name."),
        Card("Groups", number(kinds[SubjectKind.GROUP]), "Those that the migration files name."),
    ]
    if comparisons:
        wrong = sum(comparison.summary.raw_wrong for comparison in comparisons)
        skip = sum(comparison.summary.raw_skip for comparison in comparisons)
        cards += [
            Card("Compared", f"{number(len(comparisons))} of {number(len(keys))}", "Since this console was started."),
            counted("Partitions that would go wrong", wrong, "If nobody edits the offsets.", Tone.WRONG),
            counted(
                "Skipped if unedited",
                skip,
                "Records that would never be read.",
                Tone.WRONG,
                printed="≥ {:,}".format,
            ),
        ]
    blocks.cards(cards)


def _case(answers: Answers, sample: Offered) -> None:
    result = _example(answers, sample)
    if result is None:
        return
    address, answer, row = result
    name = markdown(str(row.topic_partition))
    skip = "records" if row.raw.skip is None else many(row.raw.skip, "record")
    st.markdown(
        f"The job read **{name}** up to **{number(row.old_offset)}** on the old cluster. The same record sits at "
        f"**{number(row.new_offset)}** on the new one. Restarted at {number(row.old_offset)} there, it would never "
        f"read **{skip}**, and no error would say so."
    )
    compare.rulers_of(answer, row, palette.current(), key="case")
    if st.button("Open the sample", type="primary", icon=":material/compare_arrows:"):
        st.switch_page(COMPARE_PAGE, query_params=address)


def _same_case(answers: Answers, sample: Offered) -> None:
    result = _example(answers, sample, or_any=True)
    if result is None:
        return
    address, answer, row = result
    engine = keeper_of(answer.value.engine).label
    if offset_or_none(row.old_offset) is None:
        cost = in_words(compare.facts_of(answer).at_new_offsets, sample.terms)
        message = f"**Positions that are not offsets.** {sentence(cost)}"
    else:
        message = (
            f"**The same for {markdown(engine)}.** {markdown(str(row.topic_partition))} is at "
            f"**{number(row.old_offset)}** in the job's checkpoint, and belongs at **{number(row.new_offset)}** on the "
            "new cluster."
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(message, width="stretch")
        if st.button(f"Open the {engine} sample", icon=":material/compare_arrows:"):
            st.switch_page(COMPARE_PAGE, query_params=address)


def _example(answers: Answers, sample: Offered, *, or_any: bool = False) -> _Example | None:
    """Return a partition that would lose records unedited; if there is none and `or_any`, the first one."""
    other: _Example | None = None
    for subject in sample.subjects:
        answer = answers.cached(Question.of(Reader.comparison, sample.name, subject))
        if answer is None:
            continue
        for row in answer.value.partitions:
            example = sample.address(subject), answer, row
            if row.raw.verdict is RawVerdict.LOSS and row.exactness.proven:
                return example
            other = other or example
    return other if or_any else None


def _migration(answers: Answers, migration: Offered) -> None:
    with st.container(border=True):
        where = f"recorded from {migration.recorded_from}; nothing to set up" if migration.recorded else "live"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{markdown(migration.name)}** · {markdown(migration.old)} :material/arrow_forward: "
                f"{markdown(migration.new)} · :gray[{where}]",
                width="stretch",
            )
            _links(_OF_MIGRATION, {"migration": migration.name})
        if not migration.subjects:
            st.markdown("The migration file names no checkpoint and no group. Add one under `checkpoints` or `groups`.")
        question = comparing_all(migration.name)
        if not migration.recorded and len(migration.subjects) > 1:
            blocks.draw_answer(answers, question, replace(_ALL, key=f"all-{migration.name}"))
        # While all jobs are compared, each verdict is shown as soon as it is there.
        shown = _jobs if migration.is_of_many else _subjects
        st.fragment(shown, run_every=_LOOK_S if blocks.busy(answers, question) else None)(answers, migration)


def _jobs(answers: Answers, migration: Offered) -> None:
    with guard.block(f"jobs-{migration.name}"):
        lines = jobs.of_migration(answers, migration)
        jobs.headline(migration, lines)
        chosen = f"job-to-open-{migration.name}"
        jobs.draw(migration, lines, lambda line: st.session_state.update({chosen: line.name}), key=migration.name)
        requested = st.session_state.pop(chosen, None)
        line = next((line for line in lines if line.name == requested), None)
    if line is not None:
        jobs.lead_to(migration, line)


def _subjects(answers: Answers, migration: Offered) -> None:
    for subject in migration.subjects:
        key = Question.of(Reader.comparison, migration.name, subject)
        try:
            answer = answers.cached(key)
        except Exception as error:  # noqa: BLE001 - one broken recording must not blank the others
            blocks.failed(error, key=f"{migration.name}-{subject}")
            continue
        is_checkpoint = subject.kind is SubjectKind.CHECKPOINT
        with st.container(horizontal=True, vertical_alignment="center"):
            icon = "save" if is_checkpoint else "group"
            st.markdown(f":material/{icon}: **{markdown(str(subject))}**", width="stretch")
            link = ("Open" if answer else "Compare", ":material/compare_arrows:", COMPARE_PAGE)
            _links(((_CHECKPOINT,) if is_checkpoint else ()) + (_LAG, link), migration.address(subject))
        if answer is None:
            st.markdown(_verdict(answers, key))
        else:
            st.markdown(_in_short(compare.facts_of(answer).answer, migration.terms))


def _links(links: Sequence[tuple[str, str, str]], address: Mapping[str, str]) -> None:
    with st.container(horizontal=True, width="content"):
        for label, icon, page in links:
            st.page_link(Path(page), label=label, icon=icon, query_params=dict(address))


def _in_short(answer: tuple[Tone, str, str], terms: Mapping[str, str]) -> str:
    tone, *texts = answer
    head, rest = (in_words(text, terms) for text in texts)
    icon = {"right": "✓", "wrong": "!", "careful": "?", "unknown": "?"}[tone.value]
    return f":{tone.colour}-badge[{icon} {head}] {markdown(rest)}"


def _verdict(answers: Answers, key: Question[Comparison]) -> str:
    reading = answers.reading(key)
    if reading is None:
        return ":gray[? not compared yet]"
    if not reading.outcome.done():
        return ":gray[being read now …]"
    why = f" {sentence(reading.error.problem)}" if isinstance(reading.error, OffsetwiseError) else ""
    return f":red-badge[! the last attempt failed]{why}"


def _waiting() -> None:
    current_board = board.board()
    if current_board is None:
        return
    person = board.person()
    plans = current_board.plans(person)
    waiting = current_board.waiting_for(person)
    if not plans:
        return
    st.header("Plans", anchor=False)
    states = Counter(row.state for row in plans)
    message = " · ".join(f"{number(states[state])} {state}" for state in State if states[state])
    st.markdown(f":gray[{message}]")
    if not waiting:
        st.markdown("Nothing waits for you." if person is not None else "Sign in to see what waits for you.")
    for waiting_plan in waiting[:_SHOWN]:
        _waiting_plan(waiting_plan)
    if len(waiting) > _SHOWN:
        st.page_link(
            Path(REVIEW), label=f"{number(len(waiting) - _SHOWN)} more on Review", icon=":material/more_horiz:"
        )


def _waiting_plan(waiting_plan: Waiting) -> None:
    ago = duration(max(0, int(datetime.now(UTC).timestamp() * 1000) - waiting_plan.since_ms))
    what, plan = (
        f"**Plan {waiting_plan.plan}** of {markdown(waiting_plan.migration)}, {markdown(waiting_plan.moves)}",
        str(waiting_plan.plan),
    )
    if waiting_plan.of_set is not None:
        what = (
            f"**Set {waiting_plan.of_set}** of {markdown(waiting_plan.migration)}, {many(waiting_plan.plans, 'plan')}"
        )
        plan = f"set-{waiting_plan.of_set}"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":orange-badge[● for you] {what}: {sentence(waiting_plan.why)} · {markdown(waiting_plan.by.name)}, "
            f"{ago} ago · `{waiting_plan.digest[:8]}`",
            width="stretch",
        )
        st.page_link(Path(REVIEW), label="Open", icon=":material/fact_check:", query_params={"plan": plan})
