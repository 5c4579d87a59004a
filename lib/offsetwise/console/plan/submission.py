from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.plan import plan_status
from offsetwise.console.plan.panel import bar, naming
from offsetwise.console.plan.work import Drafted, Work
from offsetwise.console.widgets import blocks, downloads
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Comparison, GateCheck
from offsetwise.review.access import Role
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import (
    AlreadyDecided,
    AlreadyOpen,
    NotAllowed,
    SaveAnswer,
    SavedVersion,
    Stale,
    SubmitAnswer,
    Submitted,
    Unchanged,
)
from offsetwise.review.difference import difference
from offsetwise.review.exports import ExportKind
from offsetwise.review.people import recorded
from offsetwise.review.sheet import Sheet
from offsetwise.review.view import Credits
from offsetwise.store.review_rows import State
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone

TITLE: Final = "Save and submit"
SAID: Final = "draft-said"
_PRESSED: Final = "draft-pressed"
REVIEW_PAGE: Final = "pages/plan/review.py"
_NOBODY: Final = "nobody signed in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    done: bool
    text: str
    """Markdown, names escaped."""
    plan: int | None = None
    short: str = "Nothing was saved or submitted. The reason is shown next to the buttons."
    """Text of the toast."""
    shown_with: str | None = None
    """The digest of the draft that was on screen when it was first drawn; None while it is new."""


class Wish(StrEnum):
    SAVE = "save"
    SUBMIT = "submit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    wish: Wish
    digest: str


def by(seat: board.Seat | None) -> str | None:
    """Return the name that decisions are recorded under; None for a person who may not decide."""
    person = None if seat is None else seat.person
    may = seat is not None and person is not None and Role.AUTHOR in seat.board.roles(person)
    return recorded(person) if may and person is not None else None


def names(seat: board.Seat | None, by: str | None, plan: int | None) -> Credits:
    if seat is None or seat.person is None or by is None:
        return Credits(author=_NOBODY, editors=(), identities=())
    return seat.board.credits(seat.person, plan)


def open_plan(work: Work, sheet: Sheet, begin: Callable[[], None]) -> None:
    """Show that a plan for this is open, and what saving does; `begin` continues with its newest version.

    Nothing is shown right after a button: its answer says so, and a box above it would push it out of sight.
    """
    newest = work.base == sheet.digest
    if newest and SAID in st.session_state:
        return
    message = (
        f"**Plan {sheet.row.id} is open for this already:** {sheet.status.state}, version {sheet.row.number}, "
        f"`{sheet.digest[:8]}`. "
    )
    message += (
        f"What you save becomes version {sheet.row.number + 1}, and earlier approvals count no more."
        if newest
        else "You began with another version, so nothing can be saved."
    )
    (st.info if newest else st.warning)(message, icon=":material/edit_note:")
    query = {"plan": str(sheet.row.id)}
    blocks.lead_on(f"Review plan {sheet.row.id}", REVIEW_PAGE, query, icon=":material/fact_check:")
    if not newest:
        st.button(
            f"Begin again with version {sheet.row.number}",
            icon=":material/refresh:",
            key="begin-again",
            on_click=begin,
        )


def pressed() -> Pressed | None:
    press: Pressed | None = st.session_state.pop(_PRESSED, None)
    return press


def carry_out(
    pressed: Pressed, seat: board.Seat, work: Work, drafted: Drafted | None, *, comparison: Comparison | None
) -> None:
    """Save or submit exactly the plan that was on the screen, and keep its comparison with it.

    A button acts on what was drawn last. If a person changes a choice and presses before the page is drawn again, it
    would save the earlier plan; so nothing is saved unless the current choices give the same digest.
    """
    if drafted is None or drafted.digest != pressed.digest:
        message = (
            f"The plan changed while the button was pressed: `{pressed.digest[:8]}` stood there"
            + ("." if drafted is None else f", and the choices above give `{drafted.digest[:8]}` now.")
            + " Nothing was saved. **What to do:** look at it again, and press again."
        )
        st.session_state[SAID] = Said(done=False, text=message)
    elif pressed.wish is Wish.SAVE:
        st.session_state[SAID] = _answered(lambda: saved_in_words(_saved(seat, work, drafted, comparison)))
    else:
        st.session_state[SAID] = _answered(lambda: _saved_and_submitted(seat, work, drafted, comparison))


def _press(wish: Wish, digest: str) -> None:
    st.session_state[_PRESSED] = Pressed(wish=wish, digest=digest)


def draw(
    seat: board.Seat,
    work: Work,
    drafted: Drafted | None,
    sheet: Sheet | None,
    *,
    checks: Sequence[GateCheck],
    job: str,
) -> None:
    """Draw what would be saved, who may not decide about it then, and the bar with the buttons.

    Args:
        seat: The board, and who drafts.
        work: The decisions so far.
        drafted: The plan; None if it is refused.
        sheet: The saved plan that it becomes the next version of; None for a new one.
        checks: The checklist of the draft.
        job: The name of what is moved.
    """
    blocks.section(TITLE)
    new = drafted is not None and _changes(work, drafted)
    _conflict_note(seat, sheet)
    if drafted is not None:
        _digest(seat, drafted, work, sheet, new=new)
    why_not = _why_not(seat, work, drafted)
    saving = why_not or (None if new else "Nothing is changed against the version that is kept.")
    submitting = why_not or _why_not_submit(new=new, sheet=sheet)
    saved_sheet = None if new else sheet
    facts = bar.PlanFacts(
        name=f"New plan · {naming.shortened(job)}" if sheet is None else naming.plan_name(sheet.row),
        state=plan_status.STATES[State.DRAFT] if saved_sheet is None else plan_status.shown_state(saved_sheet.status),
        checks=checks,
        digest=None if drafted is None else drafted.digest if saved_sheet is None else saved_sheet.digest,
        more="not saved" if saved_sheet is None else markdown(plan_status.waits(seat.board, saved_sheet)),
    )
    off = None if why_not is None else bar.Message(tone=Tone.UNKNOWN, text=f"Saving is off: {sentence(why_not)}")
    with bar.drawn(facts, _message(drafted) or off):
        st.button(
            "Save as a draft",
            icon=":material/save:",
            key="save",
            disabled=saving is not None,
            help=None if saving is None else f"Saving is off: {sentence(saving)}",
            on_click=_press,
            args=(Wish.SAVE, "" if drafted is None else drafted.digest),
        )
        if saved_sheet is not None and drafted is not None and submitting is not None:
            _next_step(seat, saved_sheet)
            return
        st.button(
            "Submit for review",
            type="primary",
            icon=":material/send:",
            key="submit",
            disabled=submitting is not None,
            on_click=_press,
            args=(Wish.SUBMIT, "" if drafted is None else drafted.digest),
        )


def _next_step(seat: board.Seat, sheet: Sheet) -> None:
    if not seat.demo or sheet.row.state is not State.SUBMITTED:
        bar.go_on("Open on Review", REVIEW_PAGE, sheet.row.id, icon=":material/fact_check:", key="go-review")
        return
    if st.button("Open on Review", icon=":material/fact_check:", key="go-review"):
        bar.open_on(REVIEW_PAGE, sheet.row.id)
    st.button(
        "Open on Review as Rita",
        type="primary",
        icon=":material/theater_comedy:",
        key="go-review-played",
        on_click=_play_on,
        args=(sheet.row.id,),
    )


def _play_on(plan: int) -> None:
    board.play(Role.REVIEWER)
    bar.open_next(REVIEW_PAGE, plan)


def _why_not(seat: board.Seat, work: Work, drafted: Drafted | None) -> str | None:
    refused = seat.board.why_not(seat.person, Verb.SAVE, work.plan)
    if refused is not None:
        return f"{refused.why} {refused.fix}"
    return "there is no plan yet; the reasons are above." if drafted is None else None


def _changes(work: Work, drafted: Drafted) -> bool:
    if work.before is None or work.base is None:
        return True
    changes = difference(work.before, drafted.plan, digests=(work.base, drafted.digest))
    return bool(changes.positions or changes.parts)


def _why_not_submit(*, new: bool, sheet: Sheet | None) -> str | None:
    if new or sheet is None:
        return None
    result = sheet.status
    if result.expired or result.state.value == "draft":
        return None
    return f"this version is {result.state} already."


def _conflict_note(seat: board.Seat, sheet: Sheet | None) -> None:
    own = None if seat.person is None else markdown(seat.person.name)
    person = seat.person
    editors = [] if sheet is None else [(editor, plan_status.editor(sheet, editor)) for editor in sheet.editors]
    own_identity = None if person is None else (person.issuer, person.subject)
    others = [named for row, named in editors if (row.issuer, row.subject) != own_identity]
    message = f"**Barred from deciding about it:** {own or 'whoever saves it'}"
    if others:
        message += f", and whoever wrote, edited or submitted a version before: {markdown(', '.join(others))}"
    st.markdown(f"{message}. Another person, with the role reviewer, decides.")


def _digest(seat: board.Seat, drafted: Drafted, work: Work, sheet: Sheet | None, *, new: bool) -> None:
    shown, suffix = (drafted.digest, "") if new or sheet is None else (sheet.digest, ", kept")
    number = 1 if sheet is None else sheet.row.number + new
    what = f"Version {number} of plan {work.plan}" if work.plan is not None else "Version 1 of a new plan"
    dropped = 0 if sheet is None else len(sheet.status.counted)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{what}{suffix}: digest `{shown[:8]}`. A decision names exactly this.")
        with st.popover("Full digest", icon=":material/fingerprint:"):
            st.code(shown, language=None, wrap_lines=True)
        downloads.button(
            "DRAFT plan",
            f"plan-{shown[:8]}.DRAFT.json",
            drafted.content if new or sheet is None else lambda: _kept_content(seat, sheet),
            key="draft-file",
            says="The plan's file as it would be saved. Nobody has approved it.",
        )
    if new and dropped:
        blocks.box(Tone.CAREFUL, f"Saving drops {many(dropped, 'approval')} of version {number - 1}.")


def _kept_content(seat: board.Seat, sheet: Sheet) -> bytes:
    (plan,) = seat.board.export(seat.person, sheet.row.id, ExportKind.PLAN)
    return plan.content


def _answered(ask: Callable[[], Said]) -> Said:
    try:
        return ask()
    except OffsetwiseError as error:
        return Said(done=False, text=f"{sentence(error.problem)} **What to do:** {sentence(error.fix)}")


def _saved(seat: board.Seat, work: Work, drafted: Drafted, comparison: Comparison | None) -> SaveAnswer:
    # The person is looked up again: the sign-in may have expired meanwhile.
    answer = seat.board.save_draft(
        board.person(), drafted.content, plan=work.plan, base=work.base, comparison=comparison
    )
    if isinstance(answer, (SavedVersion, Unchanged)):
        work.plan, work.base, work.before = answer.plan, answer.digest, drafted.plan
    return answer


def _saved_and_submitted(seat: board.Seat, work: Work, drafted: Drafted, comparison: Comparison | None) -> Said:
    if work.plan is None or work.base is None or _changes(work, drafted):
        saved = _saved(seat, work, drafted, comparison)
        if not isinstance(saved, (SavedVersion, Unchanged)):
            return saved_in_words(saved)
        plan, digest = saved.plan, saved.digest
    else:
        plan, digest = work.plan, work.base
    return submitted_in_words(seat.board.submit(board.person(), plan, digest), plan)


def saved_in_words(answer: SaveAnswer) -> Said:
    match answer:
        case SavedVersion():
            dropped = "" if not answer.dropped else f" {many(answer.dropped, 'approval')} of before count no more."
            message = f"Saved as version {answer.number} of plan {answer.plan}, digest `{answer.digest[:8]}`.{dropped}"
            return Said(done=True, text=message, plan=answer.plan, short=f"Plan {answer.plan} is saved.")
        case Unchanged():
            message = f"Exactly this is kept already, as version {answer.number} of plan {answer.plan}."
            return Said(done=True, text=message, plan=answer.plan, short=f"Plan {answer.plan} is saved.")
        case AlreadyOpen():
            return Said(done=False, text=sentence(answer.message), plan=answer.plan)
        case Stale() | NotAllowed():
            return _refused(answer)


def submitted_in_words(answer: SubmitAnswer, plan: int) -> Said:
    match answer:
        case Submitted():
            message = f"Plan {plan} waits for a decision about exactly `{answer.digest[:8]}`."
            return Said(done=True, text=message, plan=plan, short=f"Plan {plan} is submitted for review.")
        case AlreadyDecided():
            return Said(done=False, text=sentence(answer.message), plan=plan)
        case Stale() | NotAllowed():
            return _refused(answer)


def _refused(answer: Stale | NotAllowed) -> Said:
    if isinstance(answer, NotAllowed):
        return Said(done=False, text=f"{sentence(answer.why)} **What to do:** {sentence(answer.fix)}")
    changes = answer.difference
    changed = "" if changes is None else f" It differs in {many(len(changes.positions), 'partition')}."
    message = (
        f"Somebody saved another version meanwhile, `{answer.digest[:8]}`.{changed} Nothing was saved. "
        "**What to do:** begin again with the newest version, above."
    )
    return Said(done=False, text=message)


def _message(drafted: Drafted | None) -> bar.Message | None:
    said: Said | None = st.session_state.get(SAID)
    digest = "" if drafted is None else drafted.digest
    if said is None:
        return None
    if said.shown_with is None:
        blocks.toast(Tone.RIGHT if said.done else Tone.WRONG, said.short)
        st.session_state[SAID] = replace(said, shown_with=digest)
    elif said.shown_with != digest:
        del st.session_state[SAID]
        return None
    return bar.Message(tone=Tone.RIGHT if said.done else Tone.WRONG, text=said.text)
