"""A plan that ends transactions of a job's sinks, on the Draft screen: open transactions, decisions, the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console.answers import Answers, Question
from offsetwise.console.board import Seat
from offsetwise.console.plan import decided, ending, submission
from offsetwise.console.plan.checklist import in_words
from offsetwise.console.plan.decisions import MAX_REASON
from offsetwise.console.plan.work import Drafted, Work, begun_with
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import blocks, selectors, table
from offsetwise.console.widgets.blocks import Offer
from offsetwise.console.widgets.escaping import cell, sentence
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Plan, Settlement, Subject, Target
from offsetwise.model.digest import digest
from offsetwise.plan.checks import checks_of
from offsetwise.plan.request import DraftRequest, SettlementChoice
from offsetwise.plan.target import TargetRole, TargetType, target_types
from offsetwise.review.sheet import Sheet
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone

PLAN: Final = "The plan"
_DOES: Final = "does"
_MOVES: Final = "move the job"
ADDRESS: Final = {_DOES: next(spec.label for spec in target_types() if spec.role is TargetRole.TRANSACTIONS)}
"""Query that opens the Draft page with the plan that ends a checkpoint's transactions."""
REWOUND: Final = "transactions-rewound"
TOPICS: Final = "sink-topics"
_SAID: Final = "settlement-refused"
_OFFER: Final = Offer(
    what="the sink's cluster",
    now="Draft the plan",
    again="Draft it again",
    icon=":material/edit_note:",
    key="settle",
    why="The cluster is looked at twice again, and the records that transactions hold are counted. Nothing is written.",
)
_CHOICES: Final[Columns[SettlementChoice]] = (
    Column("transactional id", lambda choice: choice.transactional_id),
    Column("decision", lambda choice: choice.decision.lower()),
    Column("reason", lambda choice: choice.reason),
    Column("by", lambda choice: choice.by, heading="decided by"),
)


def choose(migration: Offered, subject: Subject) -> TargetType | None:
    """Let the person choose the purpose of the plan; None if it moves the job, the only choice without such a sink."""
    if subject not in dict(migration.sinks):
        return None
    ending_ = {spec.label: spec for spec in target_types() if spec.role is TargetRole.TRANSACTIONS}
    return ending_.get(selectors.choice("The plan is to", [_MOVES, *ending_], _DOES, width=360))


def draw(here: Answers, migration: Offered, subject: Subject, spec: TargetType, seat: Seat | None) -> None:
    """Draw the open transactions on the sink's cluster, the decisions about them, and the plan that ends them.

    Args:
        here: The answers in memory.
        migration: The migration.
        subject: Its checkpoint.
        spec: The target.
        seat: The board, and who drafts; None if nobody can sign in.
    """
    pressed = submission.pressed()
    work, sheet = _work(migration, subject, spec, seat)
    by = submission.by(seat)
    blocks.contents(decided.TITLE, PLAN, *([] if seat is None else [submission.TITLE]))
    blocks.section(decided.TITLE)
    topics = () if migration.recorded else _topics()
    looked = blocks.draw_answer(
        here, Question.of(Reader.sink_transactions, migration.name, subject.name, topics), decided.OFFER
    )
    if looked is None:
        return
    decided.draw(looked, recorded=migration.recorded)
    if Decision.COMMIT in spec.decisions:
        _decide(looked.value.transactions, work, by)
    blocks.section(PLAN)
    rows = looked.value.transactions
    names = submission.names(seat, by, work.plan)
    request = DraftRequest(
        targets=(Target(kind=spec.name),),
        author=names.author,
        editors=names.editors,
        identities=names.identities,
        settlements=tuple(
            sorted(work.settlements.values(), key=lambda settlement: (settlement.decision, settlement.transactional_id))
        ),
        sink_topics=topics,
        sink_rewound=_rewound(rows, work),
    )
    drafted = _drafted(here, Question.of(Reader.settled, migration.name, subject, request))
    if pressed is not None and seat is not None:
        submission.carry_out(pressed, seat, work, drafted, comparison=None)
        st.rerun()
    if drafted is not None:
        _plan(drafted.plan)
    if seat is not None:
        checks = () if drafted is None else checks_of(drafted.plan)
        submission.draw(seat, work, drafted, sheet, checks=checks, job=f"transactions of {subject.name}")


def _topics() -> tuple[str, ...]:
    typed = st.text_input(
        "More topics of the sink",
        key=TOPICS,
        placeholder="orders-out, payments-out, or nothing",
        help="Transactions that hang are searched for on these, beside the topics that open transactions name.",
        max_chars=2_000,
        width=480,
    )
    return tuple(dict.fromkeys(name for part in typed.split(",") if (name := part.strip())))


def _work(migration: Offered, subject: Subject, spec: TargetType, seat: Seat | None) -> tuple[Work, Sheet | None]:
    name = f"settle {migration.name!r} {subject} {spec.name} {None if seat is None else seat.who!r}"
    work: Work = st.session_state.setdefault(name, Work())
    if seat is None:
        return work, None
    moves = dict(migration.sinks)[subject]
    row = next((plan for plan in seat.board.plans(seat.person, open_only=True) if plan.moves == moves), None)
    sheet = None if row is None else seat.board.sheet(seat.person, row.id)
    if sheet is None:
        work.plan = work.base = work.before = None
        return work, None
    if work.plan is None:
        _begin(name, sheet, work)
    submission.open_plan(work, sheet, lambda: _begin(name, sheet, Work()))
    return st.session_state[name], sheet


def _begin(name: str, sheet: Sheet, work: Work) -> None:
    begun = begun_with(sheet.plan, sheet.row.id, sheet.digest)
    begun.settlements |= work.settlements
    st.session_state[name] = begun
    st.session_state[REWOUND] = sheet.plan.job.sink_rewound is True


def _decide(rows: Sequence[SinkTransaction], work: Work, by: str | None) -> None:
    undecided = [row.transactional_id for row in rows if row.decision is Decision.UNEXPLAINED and row.transactional_id]
    if undecided:
        st.markdown(f"**{many(len(undecided), 'transaction')} to decide about:** open, and explained by no checkpoint.")
        with st.form("settle-decide", border=True):
            st.multiselect("Transactions", undecided, key="settle-ids", format_func=cell, placeholder="one or more")
            st.radio(
                "They are to be",
                list(Settlement),
                index=None,
                key="settle-as",
                format_func=lambda settlement: "committed" if settlement is Settlement.COMMIT else "aborted",
                horizontal=True,
            )
            st.text_input(
                "Why it is right",
                key="settle-reason",
                placeholder="required; a reviewer reads it",
                max_chars=MAX_REASON,
            )
            st.form_submit_button("Decide", icon=":material/edit:", disabled=by is None, on_click=_set, args=(work, by))
        said = st.session_state.pop(_SAID, None)
        if said is not None:
            blocks.box(Tone.WRONG, said)
        if by is None:
            st.markdown(":gray[Deciding is off: only somebody with the role author decides what is ended.]")
    if work.settlements:
        alt = f"{many(len(work.settlements), 'decision')} of people, each with its reason."
        table.paged(_CHOICES, tuple(work.settlements.values()), "settlements", alt=alt)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = selectors.choice("Take back", list(work.settlements), "settlement-back", width=320)
            st.button(
                "Take back",
                icon=":material/undo:",
                key="settlement-back-now",
                disabled=by is None,
                on_click=_take_back,
                args=(work, name),
            )


def _take_back(work: Work, name: str) -> None:
    work.settlements.pop(name, None)


def _set(work: Work, by: str | None) -> None:
    names, reason = st.session_state["settle-ids"], st.session_state["settle-reason"].strip()
    decision = st.session_state["settle-as"]
    lacking = [
        what
        for what, given in (("transactions", names), ("what they are to be", decision), ("the reason", reason))
        if not given
    ]
    if lacking or by is None:
        st.session_state[_SAID] = (
            f"Expected transactions, what they are to be, and the reason. Not given: {', '.join(lacking)}. Nothing was "
            "changed."
        )
        return
    for name in names:
        work.settlements[name] = SettlementChoice(transactional_id=name, decision=decision, reason=reason, by=by)


def _rewound(rows: Sequence[SinkTransaction], work: Work) -> bool:
    is_rewound = work.before is not None and work.before.job.sink_rewound is True
    if not is_rewound and all(row.decision is not Decision.NOT_NEWEST for row in rows):
        return False
    return st.checkbox("The sink is taken back with the job", key=REWOUND)


def _drafted(here: Answers, question: Question[Plan]) -> Drafted | None:
    """Draw the offer to draft, and return the plan; None before that, and if the last look refused it."""
    answer = blocks.draw_answer(here, question, _OFFER)
    reading = here.reading(question)
    if answer is None or reading is not None:
        return None
    content = files.dump(answer.value).encode()
    return Drafted(plan=answer.value, content=content, digest=digest(content))


def _plan(plan: Plan) -> None:
    ending.draw(plan)
    st.markdown(in_words(plan.gate))
    st.markdown(f":gray[Whoever approves it types that it cannot be taken back. {sentence(plan.prediction.told)}]")
