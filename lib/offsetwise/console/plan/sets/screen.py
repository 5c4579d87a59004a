"""A set of plans on Review: its state, all positions worst first, its plans, and the decision about all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import answers
from offsetwise.console.board import Seat
from offsetwise.console.plan import plan_status, positions
from offsetwise.console.plan.panel import bar, naming
from offsetwise.console.plan.plans import name_of
from offsetwise.console.plan.sets import decision
from offsetwise.console.plan.sets.rows import (
    PLANS,
    PositionOfSet,
    ShownSet,
    filtered,
    largest,
    line_table,
    lines,
    position_table,
    shown,
)
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, palette, selectors, table, terms
from offsetwise.console.widgets.blocks import Card, counted
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.table import Selection
from offsetwise.ports.stream import terms_of
from offsetwise.review.exports import Destination, Export
from offsetwise.review.sets.sheet import SetSheet, SetState
from offsetwise.review.sheet import SheetMark
from offsetwise.wording import at_most, many, number
from offsetwise.wording.verdicts import Tone

_BESIDE: Final = (5, 3)
"""Widths of the plans and of the decision next to them."""
_ROW: Final = "position"
"""Key of the selected position's name, in the URL and in the session."""
_LINE: Final = "of-set"
"""Key of the selected plan of a set, likewise."""


def show(head: guard.Head, seat: Seat, number: int, watch: Callable[[], None], *, waiting: int) -> None:
    """Draw one set of plans.

    Args:
        head: Head of the page.
        seat: The board, and who decides.
        number: Number of the set.
        watch: Draws notices between two runs of the page.
        waiting: How many plans and sets wait for the person, for the title of the window.
    """
    sheet = seat.board.set_sheet(seat.person, number)
    if sheet is None:
        watch()
        blocks.empty("There is no such set of plans here.", "Choose a plan from the list.")
        return
    name = naming.set_name(sheet.row)
    count = f"({waiting:,}) " if waiting else ""
    st.set_page_config(page_title=f"{count}Review · {plain(name)} · {guard.PRODUCT}")
    now = datetime.now(UTC)
    head.says(
        f"{many(len(sheet.members), 'plan')} of {markdown(sheet.row.migration)}, decided about together · submitted by "
        f"**{markdown(sheet.row.by.name)}**, {markdown(plan_status.ago(sheet.row.at_ms, now))} · digest "
        f"`{sheet.digest[:8]}…` · :material/lock: the console never applies it"
    )
    terms.use(terms_of(sheet.plans[0].positions))
    shown_set = shown(sheet)
    _title(sheet, name)
    main, right = st.columns(_BESIDE, gap="medium")
    with right, guard.block("decision"):
        checks = decision.before_approving(sheet, shown_set)
        off = decision.fields(seat, sheet)
    with main:
        _plans_and_positions(seat, sheet, shown_set)
    with guard.block("bar"):
        decision.draw_bar(seat, sheet, checks, off, watch)


def _title(sheet: SetSheet, name: str) -> None:
    state = plan_status.set_state(sheet.status)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"{markdown(name)} :{state.tone.colour}-badge[{state}]", anchor=False, width="content")
        with st.popover("Digest", icon=":material/fingerprint:"):
            st.markdown("One decision names this digest, and that of each plan: exactly these plans, and no other.")
            st.code(sheet.digest, language=None, wrap_lines=True)


def _plans_and_positions(seat: Seat, sheet: SetSheet, shown_set: ShownSet) -> None:
    if sheet.status.state is SetState.APPROVED:
        with guard.block("set-export"):
            _export(seat, sheet)
    if count := len(sheet.document.refused):
        has, them = ("has", "that one") if count == 1 else ("have", "those")
        blocks.box(
            Tone.CAREFUL,
            f"**{many(count, 'job')} of it {has} no plan.** An approval says nothing about {them}; the reason is in "
            "the list of plans.",
        )
    with guard.block("set-cost"):
        _cost(sheet, shown_set)
    st.subheader(f"All positions :gray[{shown_set.headline}]", anchor=False)
    if changes := largest(shown_set.rows):
        st.markdown(changes)
    with guard.block("set-positions"):
        st.fragment(_positions)(shown_set)
    st.subheader(f"Plans :gray[{many(len(sheet.members), 'plan')}, in one set]", anchor=False)
    with guard.block("set-plans"):
        st.fragment(_plans)(sheet)


def _cost(sheet: SetSheet, shown_set: ShownSet) -> None:
    skipped, replayed, uncounted = shown_set.cost
    blocks.cards(
        (
            Card("Plans", number(len(sheet.members)), "Approved or rejected together."),
            Card("Positions", number(len(shown_set.rows)), "Of all plans."),
            Card("Changed", number(shown_set.changed), "Positions whose offset changes."),
            counted("Skipped", skipped, "Records never read, at most.", Tone.WRONG, printed=at_most),
            counted("Replayed", replayed, "Records read twice, at most.", Tone.CAREFUL, printed=at_most),
        )
    )
    if uncounted:
        st.markdown(f":orange[? Of {many(uncounted, 'position')} it is not known what is skipped or replayed.]")


def _positions(shown_set: ShownSet) -> None:
    with guard.block("positions"):
        rows = _filtered(shown_set)
        if not rows:
            blocks.empty("No position passes this filter.", "Clear it to see more.")
            return
        page = rows[table.page(len(rows), f"rows-{shown_set.key[:8]}")]
        names = tuple(row.name for row in page)
        selection = Selection(key=_ROW, grid=f"set-{shown_set.key[:16]}-{abs(hash(names))}", names=names, first=0)
        selection.draw(
            position_table(shown_set.key, page, palette.current()),
            alt=f"{many(len(page), 'position')} of all plans with old and new offset, worst first.",
        )
        chosen = page[selection.choose("Details of", width=320)]
        positions.details(chosen.row)
        _to_plan(chosen.plan, chosen.name)


def _filtered(shown_set: ShownSet) -> tuple[PositionOfSet, ...]:
    jobs = selectors.several("Job", f"job-{shown_set.key[:8]}", shown_set.jobs) if len(shown_set.jobs) > 1 else ()
    quiet = bool(jobs) or not shown_set.quiet
    if not quiet:
        stay = "stays" if len(shown_set.quiet) == 1 else "stay"
        quiet = st.toggle(
            f"Show the {many(len(shown_set.quiet), 'position')} that {stay} too", key=f"stay-{shown_set.key[:8]}"
        )
    return filtered(shown_set, jobs, quiet=quiet)


def _plans(sheet: SetSheet) -> None:
    with guard.block("plans"):
        rows = lines(sheet)
        page = rows[table.page(len(rows), f"plans-{sheet.digest[:8]}", label="Plans")]
        names = tuple(line.job for line in page)
        selection = Selection(key=_LINE, grid=f"of-{sheet.digest[:16]}-{abs(hash(names))}", names=names, first=0)
        selection.draw(
            line_table(page, repr([[column.value(line) for column in PLANS] for line in page]), palette.current()),
            alt=f"{many(len(page), 'job')} of the set with what needs a look in each, worst first.",
        )
        line = page[selection.choose("Plan of", width=320)]
        if line.plan is None:
            refused = next(refusal for refusal in sheet.document.refused if refusal.job == line.job)
            text = f"**{markdown(line.job)} has no plan.** {sentence(refused.problem)} **What to do:** "
            blocks.box(Tone.CAREFUL, text + sentence(refused.fix))
        else:
            _to_plan(line.plan, line.job)


def _to_plan(plan: int, key: str) -> None:
    _open(f"Open plan {plan}", str(plan), ":material/fact_check:", key=f"open-{key}")


def _open(label: str, name: str, icon: str, *, key: str) -> None:
    if st.button(label, icon=icon, key=key, on_click=bar.open_here, args=(name,)):
        st.rerun()


def of_plan(seat: Seat, plan: int) -> None:
    """Draw a link to the set that a plan belongs to; nothing if there is none."""
    sets = seat.board.sets_of(seat.person, plan)
    if sets:
        label = f"One of the {many(len(sets[0].members), 'plan')} of {markdown(naming.set_name(sets[0]))}"
        _open(label, name_of(sets[0]), ":material/stacks:", key="open-set")


@cached(2)
def _kit(
    digest: str,  # noqa: ARG001 - the key
    approvals: tuple[str, ...],  # noqa: ARG001 - part of the cache key
    where: Destination,
    _seat: Seat,
    _number: int,
) -> Export:
    return _seat.board.set_kit(_seat.person, _number, where)


def _export(seat: Seat, sheet: SetSheet) -> None:
    if sheet.status.mark is not SheetMark.APPROVED:
        return
    where = naming.destination_of(sheet.row, answers.current().offered)
    approvals = tuple(row.nonce for member in sheet.members for row in member.status.counted)
    kit = _kit(sheet.digest, approvals, where, seat, sheet.row.id)
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.download_button(
                f"Download {kit.name}",
                kit.content,
                file_name=kit.name,
                mime=kit.mime,
                type="primary",
                icon=":material/download:",
                key="download-set",
                on_click="ignore",
            )
            st.markdown(
                f":gray[The set, its {many(len(sheet.members), 'plan')}, its approvals, and a README with the "
                "commands.]",
                width="content",
            )
        blocks.command("offsetwise apply plan-set.json --migration migration.yaml")
        st.markdown(":gray[The dry run, in the folder with the unpacked files. It writes nothing.]")
