"""The ways in which the job can move: what each keeps, gives up and needs, and whether it fits here."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console import choosing, table
from offsetwise.console.escaping import markdown, plain
from offsetwise.model import Snapshot, Target, TargetKind
from offsetwise.plan.strategies import FAILBACK, PRODUCERS_FIRST, REWIND, Kind, Strategy

WAY: Final = "way"
ALSO: Final = "also"
_ELSEWHERE: Final = {
    REWIND.name: "It begins at the positions after an earlier batch, and this comparison is of the last one",
    FAILBACK.name: "It is drafted from a migration file with old and new swapped",
    PRODUCERS_FIRST.name: "It begins at earliest instead of the translated positions",
}
"""Ways that are not drafted from this comparison, with the reason."""


def choose(strategies: tuple[Strategy, ...], new: Snapshot, *, group: str | None) -> tuple[Target, ...]:
    """Let the person choose a way and what else is written, and say what the way costs. Empty where it is not here.

    Args:
        strategies: All ways, judged.
        new: The new cluster, whose groups can be written.
        group: The group that moves, whose namesake is written unless the person chooses another; None for checkpoints.
    """
    st.subheader("How the job moves", anchor=False)
    fit = sorted(strategies, key=lambda each: (not each.applies, each.kind.name in _ELSEWHERE))
    titles = {each.kind.title: each for each in fit}
    chosen = titles[choosing.choice("Way", list(titles), WAY, width=480)]
    _consequences(chosen)
    _commands(chosen)
    _side_by_side(strategies)
    if chosen.kind.name in _ELSEWHERE:
        st.markdown(f"**Not drafted here.** {_ELSEWHERE[chosen.kind.name]}. On the command line:")
        st.code(chosen.commands[0], language=None, wrap_lines=True)
        return ()
    return _targets(chosen.kind, new, group)


def _consequences(chosen: Strategy) -> None:
    if chosen.applies:
        st.markdown(":green-badge[✓ applies here]")
    else:
        st.markdown(
            ":red-badge[! does not apply here]\n\n" + "\n".join(f"- {markdown(reason)}" for reason in chosen.why_not)
        )
    if chosen.questions:
        st.markdown(
            "? Not stated in the migration file:\n\n" + "\n".join(f"- {_code(each)}" for each in chosen.questions)
        )
    parts = (("Keeps", chosen.kind.keeps), ("Gives up", chosen.kind.gives_up), ("Needs", chosen.kind.needs))
    with st.container(horizontal=True):
        for title, told in parts:
            with st.container(border=True, height="stretch"):
                st.markdown(f"**{title}**\n\n" + "\n".join(f"- {_code(each)}" for each in told))


def _commands(chosen: Strategy) -> None:
    with st.expander("The whole way on the command line"):
        st.code("\n".join(map(plain, chosen.commands)), language=None, wrap_lines=True)


def _side_by_side(strategies: tuple[Strategy, ...]) -> None:
    with st.expander(f"All {len(strategies)} ways side by side"):
        table.plain(
            pd.DataFrame(
                {
                    "way": [each.kind.title for each in strategies],
                    "here": [_mark(each) for each in strategies],
                    "keeps": ["; ".join(each.kind.keeps) for each in strategies],
                    "gives up": ["; ".join(each.kind.gives_up) for each in strategies],
                    "needs": ["; ".join(each.kind.needs) for each in strategies],
                    "why not": [" ".join(each.why_not) for each in strategies],
                }
            ),
            alt="Every way to move the job, with what it keeps, gives up and needs, and why it does not apply.",
        )


def _targets(kind: Kind, new: Snapshot, moved: str | None) -> tuple[Target, ...]:
    groups = [Target(kind=TargetKind.CONSUMER_GROUP, group=group.name) for group in new.groups]
    if kind.target_kind is TargetKind.CONSUMER_GROUP:
        if not groups:
            st.markdown("? No group of the new cluster was read. Name it under `groups` in the migration file.")
            return ()
        main = _one_of(groups, moved)
    elif kind.target_kind is None:
        return ()
    else:
        main = Target(kind=kind.target_kind)
    others = {
        str(each): each
        for each in (*(Target(kind=each) for each in _kinds_beside(kind)), *groups)
        if each.kind is not main.kind or each.group != main.group
    }
    also = st.multiselect(
        "Write as well",
        list(others),
        key=ALSO,
        bind="query-params",
        placeholder="nothing else",
        format_func=plain,
    )
    return (main, *(others[each] for each in also if each in others))


def _one_of(groups: list[Target], moved: str | None) -> Target:
    names = {str(each.group): each for each in groups}
    return names[choosing.choice("Group on the new cluster", list(names), "group", default=moved, width=320)]


def _kinds_beside(kind: Kind) -> tuple[TargetKind, ...]:
    files = (TargetKind.STARTING_OFFSETS,)
    return files if kind.target_kind is not TargetKind.STARTING_OFFSETS else ()


def _mark(each: Strategy) -> str:
    return "✓ applies" if each.applies else "! does not apply"


def _code(text: str) -> str:
    """Keep the marks of code in our own words, and escape the rest."""
    return "`".join(part if index % 2 else markdown(part) for index, part in enumerate(text.split("`")))
