"""The Draft screen: from a comparison to a plan that a second person decides about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import streamlit as st

from offsetwise.console import answers, board
from offsetwise.console.answers import Answers, Question
from offsetwise.console.jobs import table
from offsetwise.console.plan import decisions, ending_transactions, sinks, strategy, submission
from offsetwise.console.plan.checklist import FRESH, checks, left_open, met
from offsetwise.console.plan.panel import bar, cutover_fields
from offsetwise.console.plan.panel.position_words import in_one_line
from offsetwise.console.plan.sets import together
from offsetwise.console.plan.work import Drafted, Frozen, Work, begun_with, drafted
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, layout, selectors, terms
from offsetwise.console.widgets.blocks import counted
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Comparison, GateCheck, Outcome, Plan, Subject, Target, time_of
from offsetwise.plan import options
from offsetwise.plan.checks import PLACED
from offsetwise.plan.request import DraftRequest, Unset
from offsetwise.plan.strategies import way_of
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import PlanRow
from offsetwise.wording import at_most, duration, many, read_at
from offsetwise.wording.verdicts import Tone

COMPARE_PAGE: Final = "pages/explore/compare.py"
_SINK: Final = "sink-rewound"
_CHECKLIST: Final = "Checklist"
_CUTOVER: Final = "cutover"
YOUNG: Final = timedelta(hours=1)
"""A comparison older than this is likely to be of an earlier batch than the job's last."""


def show(head: guard.Head) -> None:
    bar.follow()
    here = answers.current()
    migration, subject = selectors.migration_and_subject(here, head.choices)
    head.says("What to write where, as a plan that a second person decides about.")
    seat = board.seat()
    if seat is not None and seat.demo and not migration.recorded:
        blocks.empty(
            "The demonstration drafts plans of the bundled sample only.",
            "Choose the sample above, or end the demonstration there to draft a plan of your own.",
        )
    elif subject is None:
        blocks.empty(
            "This migration names nothing to move.",
            "Add a checkpoint under `checkpoints`, or a consumer group under `groups`, to its migration file.",
        )
    elif (ending := ending_transactions.choose(migration, subject)) is not None:
        ending_transactions.draw(here, migration, subject, ending, seat)
    else:
        lines = table.above(here, migration)
        if seat is not None and lines:
            with guard.block("draft-set"):
                together.draw(here, migration, seat, lines)
        frozen = _frozen(here, migration, subject, head)
        if frozen is not None:
            _draft(here, migration, frozen, seat)


def _frozen(here: Answers, migration: Offered, subject: Subject, head: guard.Head) -> Frozen | None:
    answer = here.cached(Question.of(Reader.comparison, migration.name, subject))
    observed = None if answer is None else here.reader.observed(migration.name, subject, answer.value)
    if answer is None or observed is None:
        blocks.empty(
            "There is no comparison to draft from." if answer is None else "The reading of this comparison is gone.",
            f"Compare {markdown(str(subject))} first: a plan is drafted from exactly what was read there.",
        )
        address = {"migration": migration.name, "of": str(subject)}
        st.page_link(COMPARE_PAGE, label="Compare", icon=":material/compare_arrows:", query_params=address)
        return None
    shown = answer.value
    head.says(
        f"{blocks.clusters(shown.old.name, shown.new.name)} · {markdown(str(subject))} · "
        f"{markdown(read_at(shown.taken_at, datetime.now(UTC)))} · nothing is read again"
    )
    return Frozen(migration=migration.name, subject=subject, comparison=observed, id=answer.id)


def _draft(here: Answers, migration: Offered, frozen: Frozen, seat: board.Seat | None) -> None:
    pressed = submission.pressed()
    plans = [] if seat is None else _plans(frozen, seat)
    work, sheet = _work(frozen, seat, plans)
    by = submission.by(seat)
    comparison = frozen.comparison
    rewound = bool(st.session_state.get(_SINK))
    strategies = strategy.judged(
        here,
        frozen,
        here.reader.strategies(frozen.migration, frozen.subject, comparison, sink_rewound=rewound),
        sink_rewound=rewound,
    )
    numbers = st.empty()
    blocks.contents(strategy.TITLE, decisions.TITLE, _CHECKLIST, *([] if seat is None else [submission.TITLE]))
    chosen = strategy.choose(strategies, comparison)
    if not chosen.targets:
        return
    request = _request(chosen.targets, work, seat, by, watched=migration.ends_watched)
    transactions, marking = sinks.ask(here, migration, frozen, chosen.targets)
    if request is None:
        return
    request = replace(request, sink=transactions, settings=(*request.settings, *marking))
    result = chosen.refusal() or drafted(here, frozen, request, _drafted_at(frozen, plans))
    plan = result if isinstance(result, Drafted) else None
    if plan is not None and plan.plan.positions:
        numbers.markdown(in_one_line(plan.digest, plan.plan))
    if pressed is not None and seat is not None:
        submission.carry_out(pressed, seat, work, plan, comparison=frozen.comparison)
        st.rerun()
    strategy.say(chosen, strategies, result if isinstance(result, OffsetwiseError) else None)
    _totals(None if plan is None else plan.plan)
    decisions.draw(frozen, work, plan, by=by)
    generator, right = layout.two_columns("checks", main=1, right=1)
    with generator:
        checks = _checklist(frozen, plan, recorded_=migration.recorded)
    if seat is not None:
        with right, guard.block("submission"):
            submission.draw(seat, work, plan, sheet, checks=checks, job=frozen.subject.name)


def _request(
    targets: Sequence[Target], work: Work, seat: board.Seat | None, by: str | None, *, watched: bool
) -> DraftRequest | None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cutover = st.text_input(
            terms.said("When the job is to start on the new cluster"),
            key=_CUTOVER,
            placeholder="2026-11-21T12:00:00Z, or nothing",
            max_chars=40,
            width=360,
        ).strip()
        required = cutover_fields.ask() if watched else None
        rewound = st.checkbox("The sink is taken back with the job", key=_SINK)
    try:
        cutover_ms = options.time_ms(cutover, "The start") if cutover else None
    except OffsetwiseError as error:
        blocks.box(Tone.WRONG, f"{sentence(error.problem)} {sentence(error.fix)}")
        return None
    names = submission.names(seat, by, work.plan)
    return DraftRequest(
        targets=tuple(targets),
        author=names.author,
        editors=names.editors,
        identities=names.identities,
        overrides=tuple(sorted(work.overrides.items(), key=lambda entry: entry[0])),
        starts=tuple(work.starts[topic] for topic in sorted(work.starts)),
        unset=Unset.LEAVE if work.leaves_unset else None,
        sink_rewound=rewound,
        cutover_ms=cutover_ms,
        cutover=required,
    )


def _work(frozen: Frozen, seat: board.Seat | None, plans: Sequence[PlanRow]) -> tuple[Work, Sheet | None]:
    if seat is None:
        return _session(frozen, "nobody"), None
    who = seat.who
    work = _session(frozen, who)
    row = next((plan for plan in plans if plan.state.open), None)
    if row is None:
        work.plan = work.base = work.before = None
        return work, None
    sheet = seat.board.sheet(seat.person, row.id)
    if sheet is None:
        return work, None
    if work.plan is None and not work.overrides and not work.starts and not work.leaves_unset:
        _begin(frozen, who, sheet)
        work = _session(frozen, who)
    submission.open_plan(work, sheet, lambda: _begin(frozen, who, sheet))
    return work, sheet


def _session(frozen: Frozen, who: str) -> Work:
    work: Work = st.session_state.setdefault(_name(frozen, who), Work())
    return work


def _name(frozen: Frozen, who: str) -> str:
    return f"draft {frozen.migration!r} {frozen.subject} {who!r}"


def _plans(frozen: Frozen, seat: board.Seat) -> list[PlanRow]:
    """Return every plan for the same positions, the one that changed last first."""
    comparison = frozen.comparison
    moves = comparison.moves(comparison.group)
    return [row for row in seat.board.plans(seat.person) if row.moves == moves]


def _drafted_at(frozen: Frozen, plans: Sequence[PlanRow]) -> str:
    """Return the drafting time of the plan: the time of the newest input it is drafted from.

    That is the comparison, or the last change of a plan for the same positions. No clock is read: the time is part of
    the plan's digest, and whoever draws the page again must see the same plan. It differs for each version, so a
    decision about an earlier version never counts for a later one with the same content.
    """
    newest = datetime.fromisoformat(frozen.comparison.taken_at)
    if plans:
        newest = max(newest, datetime.fromtimestamp(plans[0].changed_at_ms / 1000, UTC))
    return time_of(newest)


def _begin(frozen: Frozen, who: str, sheet: Sheet) -> None:
    st.session_state[_name(frozen, who)] = begun_with(sheet.plan, sheet.row.id, sheet.digest)
    st.session_state[strategy.WAY] = way_of(sheet.plan.targets[0].kind, frozen.comparison.engine).title
    st.session_state[strategy.ALSO] = [str(target) for target in sheet.plan.targets[1:]]
    group = sheet.plan.targets[0].group
    if group is not None:
        st.session_state["group"] = group
    st.session_state[_SINK] = sheet.plan.job.sink_rewound is True
    cutover_fields.begin(sheet.plan.requirements.cutover)
    st.session_state[sinks.MARK] = bool(sheet.plan.marks)


def _totals(plan: Plan | None) -> None:
    totals = None if plan is None else plan.totals
    counts: tuple[int | None, ...] = (None,) * 5
    if totals is not None:
        counts = totals.partitions, totals.replay, totals.skip, totals.uncounted, totals.overridden
    partitions, replay, skip, uncounted, overridden = counts
    not_counted = "Partitions of which it is not known how many records are read twice or never."
    blocks.cards(
        (
            counted("Partitions", partitions, "Positions in the plan."),
            counted("Replayed", replay, "Records read twice, at most.", Tone.CAREFUL, printed=at_most),
            counted("Skipped", skip, "Records never read, at most.", Tone.WRONG, printed=at_most),
            counted("Not counted", uncounted, not_counted, Tone.UNKNOWN),
            counted("Decided by people", overridden, "Positions that a person chose.", Tone.CAREFUL),
        )
    )


def _checklist(frozen: Frozen, draft: Drafted | None, *, recorded_: bool) -> tuple[GateCheck, ...]:
    blocks.section(_CHECKLIST)
    now = datetime.now(UTC)
    plan = None if draft is None else draft.plan
    checks = checklist(frozen.comparison, plan, recorded=recorded_, now=now)
    left_open(checks)
    met(checks)
    remaining = sum(check.outcome is not Outcome.PASSED for check in checks)
    if plan is None:
        st.markdown(":gray[Nothing can be saved or submitted: there may be no such plan, as said beside the way.]")
    elif remaining:
        st.markdown(f":gray[{many(remaining, 'check')} to look at: a plan may be drafted, and a reviewer sees them.]")
    return checks


def checklist(comparison: Comparison, plan: Plan | None, *, recorded: bool, now: datetime) -> tuple[GateCheck, ...]:
    """Return the reviewer's checks for the draft; its freshness is judged from its own reading.

    Args:
        comparison: What it is drafted from.
        plan: The draft; None if it is refused.
        recorded: Whether the comparison is a recording whose clusters no longer exist.
        now: With its time zone.
    """
    fresh = _fresh(comparison, recorded=recorded, now=now)
    if plan is None:
        message = "There is no plan yet: the reasons are above."
        return (GateCheck(name=terms.said(PLACED), outcome=Outcome.FAILED, told=message), fresh)
    return (*(check for check in checks(plan, None) if check.name != FRESH), fresh)


def _fresh(comparison: Comparison, *, recorded: bool, now: datetime) -> GateCheck:
    if recorded:
        message = terms.said("This is a recording: its clusters exist no more, and nothing on them changes.")
        return GateCheck(name=FRESH, outcome=Outcome.PASSED, told=message)
    try:
        then = datetime.fromisoformat(comparison.taken_at)
    except ValueError:
        message = terms.said("It is not known when the clusters were read.")
        return GateCheck(name=FRESH, outcome=Outcome.UNKNOWN, told=message)
    age = now - (then.replace(tzinfo=UTC) if then.tzinfo is None else then)
    ago = duration(max(0, int(age.total_seconds() * 1000)))
    if age <= YOUNG:
        message = terms.said(f"The clusters were read {ago} ago.")
        return GateCheck(name=FRESH, outcome=Outcome.PASSED, told=message)
    message = terms.said(f"The clusters were read {ago} ago, and what moved since is not known. Compare again.")
    return GateCheck(name=FRESH, outcome=Outcome.UNKNOWN, told=message)
