from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.jobs.drafting import DraftedJobs, SetRequest
from offsetwise.console.jobs.model import JobLine, JobStep, next_wave
from offsetwise.console.offered import Offered
from offsetwise.console.plan import submission
from offsetwise.console.plan.panel import bar, outcome
from offsetwise.console.plan.panel.position_words import moves
from offsetwise.console.reader import Reader
from offsetwise.console.widgets import blocks, selectors, table
from offsetwise.console.widgets.blocks import Card, counted
from offsetwise.console.widgets.escaping import cut
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.engines.registry import registered
from offsetwise.model import RefusedJob
from offsetwise.plan.sets.several_jobs import target_of_each
from offsetwise.plan.strategies import ways_of
from offsetwise.plan.target import TargetRole, target_type, target_types
from offsetwise.review.sets.answers import SubmittedSet
from offsetwise.review.sets.drafting import DraftedSet
from offsetwise.wording import at_most, clock, many, number
from offsetwise.wording.verdicts import Tone, Verdict

TITLE: Final = "Draft many jobs together"
REVIEW_PAGE: Final = "pages/plan/review.py"
ALL: Final = "all jobs"
_SAID: Final = "drafted-set"
_DRAFTED: Final = Verdict(icon="✓", word="drafted", tone=Tone.RIGHT)
_REFUSED: Final = Verdict(icon="!", word="no plan", tone=Tone.WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedLine:
    job: str
    state: Verdict
    positions: int | None
    changed: int | None
    replayed: int | None
    skipped: int | None
    why: str


LINES: Final[Columns[DraftedLine]] = (
    Column("job", lambda line: cut(line.job), 200, pinned=True),
    Column("drafted", lambda line: line.state, 100),
    Column("positions", lambda line: line.positions, 76),
    Column("change", lambda line: line.changed, 64, "Positions whose offset changes."),
    Column("replays", lambda line: line.replayed, 70, "Records read twice, at most."),
    Column("skips", lambda line: line.skipped, 60, "Records never read, at most."),
    Column("why", lambda line: cut(line.why), 420, when=lambda lines: any(line.why for line in lines)),
)


def draw(answers: Answers, migration: Offered, seat: board.Seat, lines: Sequence[JobLine]) -> None:
    message = outcome.message(_SAID)
    with st.expander(TITLE, icon=":material/stacks:", expanded=message is not None or _under_way(answers)):
        if message is not None:
            blocks.box(message.tone, message.text)
            _to_review()
        wave, chosen = _chosen(migration, lines)
        targets = _targets(chosen)
        by = submission.by(seat)
        request = _request(seat, chosen, wave, targets, by)
        if request is None:
            why = "somebody with the role author drafts plans." if by is None else "choose at least one target."
            st.markdown(f":gray[Drafting is off: {why}]")
            return
        question = Question.of(Reader.draft_set, migration.name, request)
        st.session_state[_asked_key()] = question
        answer = blocks.draw_answer(answers, question, _offer(len(request.jobs)))
        if answer is not None:
            _drafted(answer)


def _under_way(answers: Answers) -> bool:
    question = st.session_state.get(_asked_key())
    return question is not None and (blocks.busy(answers, question) or answers.cached(question) is not None)


def _asked_key() -> str:
    return "draft-set-asked"


def _offer(count: int) -> blocks.Offer:
    return blocks.Offer(
        what=f"the plans of {many(count, 'job')}",
        now=f"Draft {many(count, 'job')}",
        again="Draft again",
        icon=":material/edit_note:",
        key="draft-set",
        stop="Stop drafting",
        why="What was compared in the last hour is used as it is; the other jobs are compared together first.",
    )


def _chosen(migration: Offered, lines: Sequence[JobLine]) -> tuple[str | None, list[JobLine]]:
    by_job = {line.subject: line for line in lines}
    if not migration.waves:
        return None, [by_job[job] for job in migration.subjects]
    next_one = next_wave(migration, lines)
    names = [*(name for name, _ in migration.waves), ALL]
    name = selectors.choice("Wave to draft", names, "draft-wave", default=next_one)
    if name == ALL:
        return None, [by_job[job] for job in migration.subjects]
    return name, [by_job[job] for job in dict(migration.waves)[name]]


def _targets(lines: Sequence[JobLine]) -> tuple[str, ...]:
    kinds = [kind.name for kind in target_types() if kind.role is not TargetRole.TRANSACTIONS]
    usual = _usual(lines)
    return tuple(
        st.multiselect(
            "What the plans write",
            kinds,
            default=[kind for kind in kinds if kind in usual],
            key="draft-set-targets",
            format_func=lambda kind: target_type(kind).named(target_of_each(kind)),
            help="Each job gets those of these that move jobs of its engine.",
        )
    )


def _usual(lines: Sequence[JobLine]) -> set[str]:
    """Return each job's usual targets: its engine's first way that keeps the state, and positions under its own name.

    If a job was not compared, its engine is not known: the usual targets of all engines are returned then.
    """
    compared = {line.engine for line in lines if line.partitions is not None}
    known = all(line.partitions is not None for line in lines)
    results = set[str]()
    for name in compared if known else {engine.name for engine in registered()}:
        ways = [way for way in ways_of(name) if not way.elsewhere and way.target]
        state = [way.target for way in ways if target_type(way.target).role is TargetRole.STATE][:1]
        positions = [way.target for way in ways if _is_of_namesake(way.target)]
        results.update(state, positions)
    return results


def _is_of_namesake(kind: str) -> bool:
    target = target_type(kind)
    return target.role is TargetRole.POSITIONS and target.address is not None


def _request(
    seat: board.Seat,
    chosen: Sequence[JobLine],
    wave: str | None,
    targets: tuple[str, ...],
    by: str | None,
) -> SetRequest | None:
    """Return the request; a job whose plan is open is left out, with its reason."""
    if by is None or seat.person is None or not targets:
        return None
    names = seat.board.credits(seat.person)
    left_out = [_open_plan(line) for line in chosen if line.step in _OPEN]
    jobs = tuple(line.subject for line in chosen if line.step not in _OPEN)
    if not jobs:
        count = many(len(chosen), "job")
        st.markdown(f":gray[Every one of the {count} has an open plan already. Look at them on Review.]")
        return None
    return SetRequest(
        jobs=jobs,
        wave=wave,
        targets=targets,
        author=names.author,
        identities=names.identities,
        left_out=tuple(left_out),
    )


_OPEN: Final = (JobStep.DRAFT, JobStep.SUBMITTED, JobStep.APPROVED)


def _open_plan(line: JobLine) -> RefusedJob:
    problem, next_step = _why_left_out(line)
    return RefusedJob(job=line.name, error="PlanError", problem=problem, fix=next_step)


def _why_left_out(line: JobLine) -> tuple[str, str]:
    plan = "" if line.plan is None else f"Plan {line.plan.id} is open for it already: {line.plan.state}."
    return plan, "Have that one decided about, or withdraw it."


def _drafted(answer: CachedAnswer[DraftedJobs]) -> None:
    drafted_jobs = answer.value
    rows = rows_of(drafted_jobs)
    replayed, skipped = (
        _sum([plan.totals.replay for _, plan in drafted_jobs.plans]),
        _sum([plan.totals.skip for _, plan in drafted_jobs.plans]),
    )
    blocks.cards(
        (
            Card("Drafted", f"{number(len(drafted_jobs.plans))} of {number(len(rows))}", "Jobs that have a plan."),
            counted("Without a plan", len(drafted_jobs.refused), "They are not in what is approved.", Tone.CAREFUL),
            counted("Replayed", replayed, "Records read twice, at most.", Tone.CAREFUL, printed=at_most),
            counted("Skipped", skipped, "Records never read, at most.", Tone.WRONG, printed=at_most),
        )
    )
    table.paged(
        LINES, rows, "drafted-jobs", missing="", alt=f"{many(len(rows), 'job')} and what came of drafting each."
    )
    if drafted_jobs.drafted is None:
        blocks.box(Tone.WRONG, "**No job could be drafted.** Each line gives the reason.")
        return
    drafted_set = drafted_jobs.drafted
    st.markdown(
        f":gray[Drafted at {clock(answer.at)}. Set `{drafted_set.digest[:8]}` names exactly these plans. Whoever "
        "submits it is kept from deciding about it.]"
    )
    st.button(
        f"Submit {many(len(drafted_set.plans), 'plan')} as one set",
        type="primary",
        icon=":material/send:",
        key="submit-set",
        on_click=submit,
        args=(drafted_set,),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count for count in counts if count is not None)


def rows_of(drafted_jobs: DraftedJobs) -> list[DraftedLine]:
    """Return the result of each job, those without a plan first."""
    refused = [
        DraftedLine(
            job=refusal.job,
            state=_REFUSED,
            positions=None,
            changed=None,
            replayed=None,
            skipped=None,
            why=refusal.problem,
        )
        for refusal in drafted_jobs.refused
    ]
    return refused + [
        DraftedLine(
            job=str(job),
            state=_DRAFTED,
            positions=len(plan.positions),
            changed=sum(map(moves, plan.positions)),
            replayed=plan.totals.replay,
            skipped=plan.totals.skip,
            why="",
        )
        for job, plan in drafted_jobs.plans
    ]


def submit(drafted: DraftedSet) -> None:
    outcome.ask(_SAID, lambda board_, person: board_.submit_set(person, drafted))


def _to_review() -> None:
    result = outcome.last_answer(_SAID)
    if result is not None and isinstance(result.answer, SubmittedSet):
        name = f"set-{result.answer.number}"
        if st.button("Open the set on Review", type="primary", icon=":material/fact_check:", key="go-set"):
            bar.open_on(REVIEW_PAGE, name)
