"""The ways in which the job can move: what each keeps, gives up and needs, and whether it fits here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.config import JobTraits
from offsetwise.console.answers import Answers
from offsetwise.console.plan.work import Frozen, plan_of
from offsetwise.console.widgets import blocks, selectors, table, terms
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.errors import OffsetwiseError, PlanError
from offsetwise.model import Comparison, Plan, Target
from offsetwise.plan.request import DraftRequest, refuse
from offsetwise.plan.strategies import Strategy, targets_of
from offsetwise.plan.target import OFFSETS, TargetRole, TargetType, target_type, target_types
from offsetwise.plan.ways import Way
from offsetwise.wording.verdicts import Tone

TITLE: Final = "How the job moves"
WAY: Final = "way"
ALSO: Final = "also"
ELSEWHERE: Final = "? on the command line"
_NOBODY: Final = "nobody"
"""Author of the drafts that only judge a way and are discarded."""
_NO_GROUP: Final = "No group of the new cluster was read. Name it under `groups` in the migration file."


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    strategy: Strategy
    targets: tuple[Target, ...]
    """Empty if nothing can be drafted here."""
    verdict: DeltaGenerator
    """Container of the verdict, known once the way was drafted."""

    def refusal(self) -> PlanError | None:
        """Return why the way itself is not allowed, whatever its targets; None if it has no objection."""
        try:
            refuse(self.strategy.objections, terms.shown())
        except PlanError as error:
            return error
        return None


@cached(16)
def judged(
    _answers: Answers, frozen: Frozen, strategies: tuple[Strategy, ...], *, sink_rewound: bool
) -> tuple[Strategy, ...]:
    """Judge the ways by drafting each without any decisions; those that can be drafted come first.

    Args:
        _answers: The answers in memory.
        frozen: What is drafted from.
        strategies: Every way, judged by rules alone.
        sink_rewound: Whether a person states that the sink is rewound with the job.
    """
    comparison = frozen.comparison
    results = []
    for candidate in strategies:
        result = candidate
        if candidate.drafts:
            targets = targets_of(candidate.kind, comparison, comparison.snapshots[1])
            request = DraftRequest(targets=targets, author=_NOBODY, sink_rewound=sink_rewound)
            plan = plan_of(_answers, frozen, request) if targets else None
            if not isinstance(plan, Plan):
                result = candidate.refused(terms.said(_NO_GROUP) if plan is None else plan.problem)
        results.append(result)
    return tuple(sorted(results, key=lambda strategy: (not strategy.drafts, not strategy.applies)))


def choose(strategies: tuple[Strategy, ...], comparison: Comparison) -> Chosen:
    """Let the person choose a way and additional targets, and draw what the way costs.

    Args:
        strategies: All ways, judged, in display order.
        comparison: What is drafted from. A group that moves is written under the same name unless the person chooses
            another.
    """
    blocks.section(TITLE)
    titles = {strategy.kind.title: strategy for strategy in strategies}
    chosen = titles[selectors.choice("Way", list(titles), WAY, width=480)]
    verdict = st.container()
    _consequences(chosen)
    _commands(chosen)
    _side_by_side(strategies)
    targets: tuple[Target, ...] = ()
    if not chosen.kind.elsewhere:
        targets = _targets(chosen.kind, comparison, {strategy.kind.target for strategy in strategies})
    result = Chosen(strategy=chosen, targets=targets, verdict=verdict)
    if not targets:
        say(result, strategies, None)
    return result


def say(chosen: Chosen, strategies: tuple[Strategy, ...], refusal: OffsetwiseError | None) -> None:
    """Draw whether the way applies: whether the chosen targets can be drafted.

    Args:
        chosen: The way.
        strategies: All ways, judged.
        refusal: Why there may be no such plan; None if there is one, or nothing was drafted.
    """
    way = chosen.strategy.kind
    with chosen.verdict:
        if chosen.targets and refusal is None:
            st.markdown(":green-badge[✓ applies here]")
            return
        if way.elsewhere:
            st.markdown(f":gray-badge[{ELSEWHERE}] **Not drafted here.** {sentence(way.elsewhere)}. Its command:")
            blocks.command(chosen.strategy.commands[0])
            if chosen.strategy.applies:
                return
        reasons = [reason for reason in chosen.strategy.why_not if refusal is None or reason not in refusal.problem]
        message = "".join(f"\n- {sentence(reason)}" for reason in reasons)
        st.markdown(":red-badge[! does not apply here]" + (f"\n{message}" if message else ""))
        if refusal is not None:
            blocks.box(Tone.WRONG, f"**This plan is not allowed.** {sentence(refusal.problem)}")
            st.markdown(
                f"**What to do:** {sentence(refusal.fix)} On this page another way is chosen above, and another "
                "position decided in the table below."
            )
        others = [
            markdown(strategy.kind.title) for strategy in strategies if strategy.drafts and strategy.kind is not way
        ]
        if others:
            st.markdown(f"**Ways that can be drafted here:** {'; '.join(others)}.")


def _consequences(chosen: Strategy) -> None:
    if chosen.questions:
        st.markdown(
            "? Not stated in the migration file:\n\n"
            + "\n".join(f"- {sentence(question)}" for question in chosen.questions)
        )
    parts = (("Keeps", chosen.kind.keeps), ("Gives up", chosen.kind.gives_up), ("Needs", chosen.kind.needs))
    with st.container(horizontal=True):
        for title, sentences in parts:
            with st.container(border=True, height="stretch"):
                st.markdown(f"**{title}**\n\n" + "\n".join(f"- {sentence(text)}" for text in sentences))


def _commands(chosen: Strategy) -> None:
    with st.expander("The whole way on the command line"):
        blocks.command("\n".join(map(plain, chosen.commands)))


def _side_by_side(strategies: tuple[Strategy, ...]) -> None:
    with st.expander(f"All {len(strategies):,} ways side by side"):
        table.show(
            _WAYS,
            strategies,
            alt="Every way to move the job, with what it keeps, gives up and needs, and why it does not apply.",
        )


def _targets(way: Way, comparison: Comparison, shown: Collection[str]) -> tuple[Target, ...]:
    usual = targets_of(way, comparison, comparison.snapshots[1])
    if not usual:
        st.markdown(f"? {terms.said(_NO_GROUP)}")
        return ()
    main = tuple(_one_of(target, comparison) for target in usual)
    besides = [
        kind
        for kind in target_types()
        if kind.role in (TargetRole.START, TargetRole.POSITIONS) and (OFFSETS in kind.streams or kind.name in shown)
        if not any(kind.objections(comparison, JobTraits(), sink_rewound=False))
    ]
    others = {str(target): target for kind in besides for target in _targets_of(kind, comparison) if target not in main}
    also = st.multiselect(
        "Write as well",
        list(others),
        key=ALSO,
        bind="query-params",
        placeholder="nothing else",
        format_func=plain,
    )
    return (*main, *(others[name] for name in also if name in others))


def _one_of(usual: Target, comparison: Comparison) -> Target:
    """Let the person choose the group; a lease table is fixed here, and only the command line takes another one."""
    if usual.group is None:
        return usual
    kind = target_type(usual.kind)
    label, names = str(kind.address).capitalize(), list(kind.addresses(comparison, comparison.snapshots[1]))
    if len(names) < 2:
        message = "Another one is written on the command line."
        st.markdown(f":gray[{label} **{markdown(usual.group)}**. {message}]")
        return usual
    chosen = selectors.choice(terms.said(f"{label} on the new cluster"), names, "group", default=usual.group, width=320)
    return Target(kind=usual.kind, group=chosen)


def _targets_of(kind: TargetType, comparison: Comparison) -> list[Target]:
    if kind.address is None:
        return [Target(kind=kind.name)]
    return [Target(kind=kind.name, group=name) for name in kind.addresses(comparison, comparison.snapshots[1])]


def _mark(strategy: Strategy) -> str:
    if strategy.drafts:
        return "✓ applies"
    return ELSEWHERE if strategy.applies else "! does not apply"


_WAYS: Final[Columns[Strategy]] = (
    Column("way", lambda strategy: strategy.kind.title),
    Column("here", _mark),
    Column("keeps", lambda strategy: "; ".join(strategy.kind.keeps)),
    Column("gives up", lambda strategy: "; ".join(strategy.kind.gives_up)),
    Column("needs", lambda strategy: "; ".join(strategy.kind.needs)),
    Column("why not", lambda strategy: " ".join(strategy.why_not)),
)
