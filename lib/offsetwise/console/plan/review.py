"""The Review screen: one plan, what it changes and costs, what to check, and the decision about exactly that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

import streamlit as st

from offsetwise.console import answers, board
from offsetwise.console.board import Seat
from offsetwise.console.jobs import table as jobs
from offsetwise.console.jobs.model import known_jobs
from offsetwise.console.plan import decision, ending, plan_status, plans, positions, sinks, versions
from offsetwise.console.plan.panel import live, outcome, unsent
from offsetwise.console.plan.panel.naming import plan_name
from offsetwise.console.plan.panel.position_words import largest_changes
from offsetwise.console.plan.sets import screen
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, evidence, palette, table, terms
from offsetwise.console.widgets.blocks import Card, counted
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.model import Severity
from offsetwise.plan.drift import Drift
from offsetwise.plan.target import target_type
from offsetwise.ports.stream import terms_of
from offsetwise.review.access import Role
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import SetRow, State
from offsetwise.wording import at_most, many, number
from offsetwise.wording.cutover import required
from offsetwise.wording.verdicts import Tone

_BESIDE: Final = (5, 3)
"""Widths of the plan and of the decision, which is below the plan if there is no room next to it."""


def show(head: guard.Head) -> None:
    head.says("Plans, and what people decide about them. The console never applies one.")
    seat = board.seat()
    if seat is None:
        return
    unsent.sits(seat)
    now = datetime.now(UTC)
    listed = live.listed(seat)
    waiting = len(listed.waiting)
    for migration in answers.current().offered:
        jobs.above(answers.current(), migration, known_jobs=known_jobs(listed.plans, listed.sets, listed.waiting))
    chosen = plans.choose(listed, now, sets=True)
    if isinstance(chosen, SetRow):
        screen.show(head, seat, chosen.id, partial(live.watch, seat, None, listed), waiting=waiting)
        return
    sheet = None if chosen is None else seat.board.sheet(seat.person, chosen.id)
    watch = partial(live.watch, seat, None if chosen is None else chosen.id, live.with_plan(listed, sheet))
    if sheet is None:
        watch()
        if chosen is not None:
            blocks.empty("There is no such plan here.", "Choose a plan from the list.")
        return
    count = f"({waiting:,}) " if waiting else ""
    st.set_page_config(page_title=f"{count}Review · {plain(plan_name(sheet.row))} · {guard.PRODUCT}")
    head.says(f"{plan_status.caption(sheet, now)} · :material/lock: the console never applies it")
    _draw(seat, sheet, now, watch)


def _draw(seat: Seat, sheet: Sheet, now: datetime, watch: Callable[[], None]) -> None:
    terms.use(terms_of(sheet.plan.positions))
    _title(sheet)
    with guard.block("set"):
        screen.of_plan(seat, sheet.row.id)
    overtaken = _overtaken(seat, sheet)
    generator, right = st.columns(_BESIDE, gap="medium")
    with right:
        observed = decision.before_approving(sheet)
        offs = decision.fields(seat, sheet, observed, overtaken=overtaken)
        with guard.block("comments"):
            versions.comments(sheet, now)
    with generator, guard.block("plan"):
        if observed.drifts:
            _drifted(sheet, observed.drifts)
        _plan(seat, sheet, now)
    with guard.block("bar"):
        decision.draw_bar(seat, sheet, observed.checks, offs, watch)


def _plan(seat: Seat, sheet: Sheet, now: datetime) -> None:
    shown = positions.shown(sheet, versions.before(seat.board, seat.person, sheet))
    with guard.block("ending"):
        ending.draw(sheet.plan, over=not sheet.row.state.open)
    with guard.block("marks"):
        sinks.marked(sheet.plan)
    if shown.rows:
        st.subheader(f"What changes :gray[{shown.headline}]", anchor=False)
        if largest := largest_changes(sheet.digest, sheet.plan):
            st.markdown(largest)
        positions.draw(seat, sheet, shown, palette.current())
    with guard.block("job"):
        _job(sheet, shown)
    with guard.block("findings"):
        _findings(sheet)
    with guard.block("timeline"):
        versions.timeline(sheet, now)
    versions.draw(seat, sheet)


def _title(sheet: Sheet) -> None:
    state = plan_status.shown_state(sheet.status)
    with st.container(horizontal=True, vertical_alignment="center"):
        name = markdown(plan_name(sheet.row))
        st.header(f"{name} :{state.tone.colour}-badge[{state}]", anchor=False, width="content")
        with st.popover("Digest and people", icon=":material/fingerprint:"):
            st.markdown("A decision names this digest: the SHA-256 of the exact bytes of the plan.")
            st.code(sheet.digest, language=None, wrap_lines=True)
            st.markdown("Wrote, edited or submitted a version, so they are kept from deciding:")
            st.code("\n".join(map(plain, plan_status.people(sheet))), language=None, wrap_lines=True)
        with st.popover("Copy link", icon=":material/link:"):
            st.markdown("Whoever opens it sees this plan, after signing in.")
            st.code(_address(sheet), language=None, wrap_lines=True)


def _address(sheet: Sheet) -> str:
    here = (st.context.url or "").partition("?")[0].rstrip("/")
    base = here if here.endswith("/review") else f"{here}/review"
    played = "" if board.playing() is None else f"&{board.PART}={Role.REVIEWER}"
    return f"{base}?{plans.KEY}={sheet.row.id}{played}"


def _overtaken(seat: Seat, sheet: Sheet) -> bool:
    """Return whether a newer version replaced the one that the person was shown; draw what it changes."""
    key = f"seen-{sheet.row.id}"
    shown_digest = st.session_state.setdefault(key, sheet.digest)
    if shown_digest == sheet.digest:
        return False
    earlier = next((version for version in sheet.versions if version.digest == shown_digest), None)
    by = markdown(plan_status.named(sheet.version.by))
    st.warning(
        f"**Version {sheet.row.number} replaced the one that you were shown.** {by} saved it. This is what it changes:",
        icon=":material/published_with_changes:",
    )
    with guard.block("overtaken"):
        if earlier is not None:
            difference = versions.difference_of(seat.board, seat.person, sheet, earlier.number, sheet.row.number)
            with st.container(border=True):
                versions.difference(difference, key="overtaken")
    st.button(f"Go on with version {sheet.row.number}", key="go-on", on_click=partial(_go_on, key, sheet.digest))
    return True


def _go_on(key: str, digest: str) -> None:
    st.session_state[key] = digest


def _drifted(sheet: Sheet, drifts: tuple[Drift, ...]) -> None:
    since = "submitted" if sheet.row.state is not State.DRAFT else "drafted"
    st.warning(
        f"**Changed since it was {since}.** The plan would be refused by apply.\n\n{outcome.drifts_in_words(drifts)}",
        icon=":material/update:",
    )


def _cost(label: str, most: int | None, meaning: str, tone: Tone) -> Card:
    if most is None:
        return Card(label, number(None), meaning, Tone.UNKNOWN)
    return Card(label, at_most(most), meaning, tone if most else None)


def _job(sheet: Sheet, shown: positions.Shown) -> None:
    st.subheader("What happens to the job", anchor=False)
    skipped, replayed, uncounted = shown.cost
    plan = sheet.plan
    if plan.positions:
        blocks.cards(
            (
                _cost("Skipped", skipped, "Records never read, at most.", Tone.WRONG),
                _cost("Replayed", replayed, "Records read twice, at most.", Tone.CAREFUL),
                Card("Partitions", number(plan.totals.partitions), "Positions in the plan."),
                counted("Decided by people", plan.totals.overridden, "Positions that a person chose.", Tone.CAREFUL),
            )
        )
    if uncounted:
        parts = terms.said(many(uncounted, "partition"))
        st.markdown(f":orange[? What is skipped or replayed is a sum over a part only: of {parts} it is not known.]")
    rewind = "" if plan.rewind_to is None else f" It goes back to batch {number(plan.rewind_to)}."
    st.markdown(f"**How:** {markdown(plan.strategy)}.{rewind}")
    for word, lines in (("Keeps", plan.keeps), ("Gives up", plan.gives_up)):
        if lines:
            st.markdown(f"**{word}:** {markdown('; '.join(lines))}.")
    for cost in () if plan.repair is None else plan.repair.costs:
        st.markdown(f"**Cost of the repair:** {sentence(cost)}")
    for target in plan.targets:
        if (created := target_type(target.kind).creates(plan.settings, target)) is not None:
            st.markdown(f"**Creates:** {markdown(created)}.")
    for at in plan.requirements.targets:
        st.markdown(f"**Now at {markdown(target_type(at.target.kind).named(at.target))}:** {markdown(at.described)}.")
    if plan.settings:
        st.markdown(f"**Set:** {markdown(', '.join('='.join(setting) for setting in plan.settings))}.")
    if plan.requirements.cutover is not None:
        message = f"{required(plan.requirements.cutover)}. `apply` watches them, and refuses else"
        st.markdown(f"**Required before it is applied:** {terms.said(message)}.")
    if plan.positions:
        st.markdown(f"**Started unedited instead:** {sentence(plan.prediction.told)}")


def _findings(sheet: Sheet) -> None:
    findings = sorted(sheet.plan.findings, key=lambda finding: list(Severity).index(finding.severity))
    if not findings:
        return
    with st.expander(many(len(findings), "finding"), icon=":material/report:"):
        evidence.findings(findings[table.page(len(findings), "finding-rows", label="Findings", size=20)])
