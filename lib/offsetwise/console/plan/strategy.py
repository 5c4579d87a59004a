"""The ways in which the job can move: what each keeps, gives up and needs, and whether it fits here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import streamlit as st

from offsetwise.console.widgets import blocks, selectors, table
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Snapshot, Target
from offsetwise.plan.strategies import Strategy
from offsetwise.plan.ways import Way
from offsetwise.targets.spec import spec_of, specs

TITLE: Final = "How the job moves"
WAY: Final = "way"
ALSO: Final = "also"


def choose(strategies: tuple[Strategy, ...], new: Snapshot, *, group: str | None) -> tuple[Target, ...]:
    """Let the person choose a way and what else is written, and say what the way costs. Empty where it is not here.

    Args:
        strategies: All ways, judged.
        new: The new cluster, whose groups can be written.
        group: The group that moves, whose namesake is written unless the person chooses another; None for checkpoints.
    """
    blocks.section(TITLE)
    fit = sorted(strategies, key=lambda each: (not each.applies, bool(each.kind.elsewhere)))
    titles = {each.kind.title: each for each in fit}
    chosen = titles[selectors.choice("Way", list(titles), WAY, width=480)]
    _consequences(chosen)
    _commands(chosen)
    _side_by_side(strategies)
    if chosen.kind.elsewhere:
        st.markdown(f"**Not drafted here.** {chosen.kind.elsewhere}. On the command line:")
        st.code(chosen.commands[0], language=None, wrap_lines=True)
        return ()
    return _targets(chosen.kind, new, group, {each.kind.target for each in strategies})


def _consequences(chosen: Strategy) -> None:
    if chosen.applies:
        st.markdown(":green-badge[✓ applies here]")
    else:
        st.markdown(
            ":red-badge[! does not apply here]\n\n" + "\n".join(f"- {markdown(reason)}" for reason in chosen.why_not)
        )
    if chosen.questions:
        st.markdown(
            "? Not stated in the migration file:\n\n" + "\n".join(f"- {sentence(each)}" for each in chosen.questions)
        )
    parts = (("Keeps", chosen.kind.keeps), ("Gives up", chosen.kind.gives_up), ("Needs", chosen.kind.needs))
    with st.container(horizontal=True):
        for title, told in parts:
            with st.container(border=True, height="stretch"):
                st.markdown(f"**{title}**\n\n" + "\n".join(f"- {sentence(each)}" for each in told))


def _commands(chosen: Strategy) -> None:
    with st.expander("The whole way on the command line"):
        st.code("\n".join(map(plain, chosen.commands)), language=None, wrap_lines=True)


def _side_by_side(strategies: tuple[Strategy, ...]) -> None:
    with st.expander(f"All {len(strategies)} ways side by side"):
        table.show(
            _WAYS,
            strategies,
            alt="Every way to move the job, with what it keeps, gives up and needs, and why it does not apply.",
        )


def _targets(way: Way, new: Snapshot, moved: str | None, shown: Collection[str]) -> tuple[Target, ...]:
    if spec_of(way.target).takes_group:
        groups = _each(way.target, new)
        if not groups:
            st.markdown("? No group of the new cluster was read. Name it under `groups` in the migration file.")
            return ()
        main = _one_of(groups, moved)
    else:
        main = Target(kind=way.target)
    beside = [spec.name for spec in specs() if spec.beside and (spec.of_stream is None or spec.name in shown)]
    others = {str(each): each for name in beside for each in _each(name, new) if each != main}
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
    return names[selectors.choice("Group on the new cluster", list(names), "group", default=moved, width=320)]


def _each(name: str, new: Snapshot) -> list[Target]:
    """Give every target of one kind that can be written: a kind that takes a group, once for each that was read."""
    if spec_of(name).names_table:
        return []  # no cluster tells which tables there are
    if spec_of(name).takes_group:
        return [Target(kind=name, group=group.name) for group in new.groups]
    return [Target(kind=name)]


def _mark(each: Strategy) -> str:
    return "✓ applies" if each.applies else "! does not apply"


_WAYS: Final[Columns[Strategy]] = (
    Column("way", lambda each: each.kind.title),
    Column("here", _mark),
    Column("keeps", lambda each: "; ".join(each.kind.keeps)),
    Column("gives up", lambda each: "; ".join(each.kind.gives_up)),
    Column("needs", lambda each: "; ".join(each.kind.needs)),
    Column("why not", lambda each: " ".join(each.why_not)),
)
