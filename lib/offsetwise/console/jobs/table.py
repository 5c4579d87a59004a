from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.answers import Answers
from offsetwise.console.jobs.model import JobLine, JobStep, KnownJobs, in_short, jobs, kept_of, next_wave
from offsetwise.console.offered import Offered
from offsetwise.console.plan.panel import bar
from offsetwise.console.plan.plan_status import STATES
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, palette, selectors, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import cut, markdown
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns, Prepared, Selection
from offsetwise.engines.registry import keeper_of
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Severity, SubjectKind
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone, Verdict

COMPARE_PAGE: Final = "pages/explore/compare.py"
REVIEW_PAGE: Final = "pages/plan/review.py"
WITHOUT: Final = "in no wave"
_OF: Final = "of"
"""Key of the chosen job in the URL and the session, as in the context bar."""
_COMPARED: Final = {
    JobStep.FAILED: Verdict(icon="!", word="not readable", tone=Tone.WRONG),
    JobStep.UNCOMPARED: Verdict(icon="?", word="not yet", tone=Tone.UNKNOWN),
}
_YES: Final = Verdict(icon="✓", word="compared", tone=Tone.RIGHT)
_FINDINGS: Final = {Severity.BLOCKS: ("!", Tone.WRONG), Severity.WARNS: ("▲", Tone.CAREFUL)}
_NO_PLAN: Final = Verdict(icon="–", word="none", tone=Tone.UNKNOWN)


def _compared(line: JobLine) -> Verdict:
    if line.error:
        return _COMPARED[JobStep.FAILED]
    return _COMPARED[JobStep.UNCOMPARED] if line.partitions is None else _YES


def _changes(line: JobLine) -> str:
    if line.changed is None or line.partitions is None:
        return ""
    return f"{line.changed:,} of {line.partitions:,}"


def _worst(line: JobLine) -> Verdict | str:
    if line.error:
        return cut(line.error)
    if line.worst is None:
        return ""
    icon, tone = _FINDINGS.get(line.worst.severity, ("·", Tone.UNKNOWN))
    return Verdict(icon=icon, word=line.worst.code, tone=tone)


def _plan(line: JobLine) -> str:
    if line.plan is None:
        return ""
    return str(line.plan.id) if line.of_set is None else f"{line.plan.id} (set {line.of_set})"


def _engine(line: JobLine) -> str:
    if line.subject.kind is SubjectKind.GROUP:
        return "consumer group"
    return keeper_of(line.engine).label if line.engine else ""


JOBS: Final[Columns[JobLine]] = (
    Column("job", lambda line: cut(line.name), 200, pinned=True),
    Column("wave", lambda line: cut(line.wave), 100, when=lambda lines: any(line.waves for line in lines)),
    Column("engine", _engine, 120),
    Column("compared", _compared, 110, "Since this console was started."),
    Column("changes", _changes, 90, "Partitions whose offset changes, of all.", right=True),
    Column(
        "worst finding", _worst, 210, "The worst finding that translated offsets leave, or why it cannot be compared."
    ),
    Column("plan", _plan, 80),
    Column("state", lambda line: _NO_PLAN if line.plan is None else STATES[line.plan.state], 110),
    Column("for you", lambda line: line.why, 170, when=lambda lines: any(line.why for line in lines)),
)


def of_migration(answers: Answers, migration: Offered) -> list[JobLine]:
    try:
        current_board = board.board()
        known_jobs = KnownJobs() if current_board is None else kept_of(current_board, board.person())
    except OffsetwiseError:
        known_jobs = KnownJobs()
    return jobs(answers, migration, known_jobs)


def headline(migration: Offered, lines: Sequence[JobLine]) -> None:
    wave = next_wave(migration, lines)
    after = "" if wave is None else f" · next: wave **{markdown(wave)}**"
    st.markdown(f"**{in_short(migration, lines)}**{after}")


def above(answers: Answers, migration: Offered, *, known_jobs: KnownJobs | None = None) -> list[JobLine]:
    """Draw a summary of the whole migration above one of its jobs, and the table to choose another job from.

    Nothing is drawn for a migration of one job.

    Args:
        answers: The answers in memory.
        migration: The migration.
        known_jobs: What the page read from the store. If given, a click opens the plan of the job on this page; if not,
            the page shows the job.

    Returns:
        The jobs of the migration; empty for a migration of one job.
    """
    lines: list[JobLine] = []
    if not migration.is_of_many:
        return lines
    with guard.block("jobs"):
        lines = of_migration(answers, migration) if known_jobs is None else jobs(answers, migration, known_jobs)
        wave = next_wave(migration, lines)
        name = "" if known_jobs is None else f"{markdown(migration.name)}: "
        after = "" if wave is None else f" · next: wave {markdown(wave)}"
        with st.expander(f"{name}{in_short(migration, lines)}{after}", icon=":material/stacks:"):
            draw(migration, lines, _show_job if known_jobs is None else _open_plan, key=f"above-{migration.name}")
    return lines


def _show_job(line: JobLine) -> None:
    st.session_state[_OF] = line.name


def _open_plan(line: JobLine) -> None:
    if line.plan is not None:
        bar.open_here(str(line.plan.id) if line.of_set is None else f"set-{line.of_set}")


def draw(migration: Offered, lines: Sequence[JobLine], chosen: Callable[[JobLine], None], *, key: str) -> None:
    """Draw the table with its filters.

    Args:
        migration: The migration.
        lines: Its jobs, in display order.
        chosen: Called with the job of the clicked row, before the page is drawn again.
        key: Distinguishes the tables of a page.
    """
    remaining = _filtered(migration, lines, key)
    if not remaining:
        blocks.empty("No job passes this filter.", "Clear it to see more.")
        return
    page = remaining[table.page(len(remaining), f"{key}-jobs", label="Jobs")]
    st.markdown(":gray[A click on a row opens the job.]")
    names = tuple(line.name for line in page)
    grid = f"{key}-{migration.name}-{abs(hash(names))}"
    cells = repr([[column.value(line) for column in JOBS] for line in page])

    def picked() -> None:
        selected = st.session_state[grid]["selection"]
        rows = [row for row, _ in selected.get("cells", ())] or list(selected["rows"])
        if rows and 0 <= rows[0] < len(page):
            chosen(page[rows[0]])

    Selection(key=f"{key}-job", grid=grid, names=names, first=0).draw(
        _prepared(page, cells, palette.current()),
        alt=f"{many(len(page), 'job')} with wave, engine, comparison, worst finding and plan; problems first.",
        picked=picked,
    )


@cached(16)
def _prepared(_lines: Sequence[JobLine], cells: str, colours: Palette) -> Prepared:  # noqa: ARG001 - the key
    return table.prepared(JOBS, _lines, colours)


def _filtered(migration: Offered, lines: Sequence[JobLine], key: str) -> list[JobLine]:
    in_none = any(not line.waves for line in lines)
    waves = [name for name, _ in migration.waves] + ([WITHOUT] if migration.waves and in_none else [])
    steps = [step.value for step in JobStep if any(line.step is step for line in lines)]
    with st.container(horizontal=True):
        of_waves = selectors.several("Wave", f"{key}-wave", waves) if len(waves) > 1 else ()
        of_steps = selectors.several("State", f"{key}-state", steps) if len(steps) > 1 else ()
    return [
        line
        for line in lines
        if (not of_waves or set(of_waves) & set(line.waves or (WITHOUT,))) and (not of_steps or line.step in of_steps)
    ]


def page_of(line: JobLine) -> str:
    return REVIEW_PAGE if line.plan is not None and line.plan.state.open else COMPARE_PAGE


def lead_to(migration: Offered, line: JobLine) -> None:
    page, query = page_of(line), migration.address(line.subject)
    if line.plan is not None and page == REVIEW_PAGE:
        query = {"plan": str(line.plan.id) if line.of_set is None else f"set-{line.of_set}"}
    st.switch_page(Path(page), query_params=query)
