"""Files that are brought in: an approval that was signed elsewhere, a receipt, a review bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from offsetwise import files
from offsetwise.approval import ApprovalFile
from offsetwise.console import board
from offsetwise.console.bundles import Handed, _handed
from offsetwise.console.plan.plan_status import STATES, at, named
from offsetwise.console.server import guard, uploads
from offsetwise.console.widgets import blocks, terms
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import (
    AlreadyDecided,
    AlreadyOpen,
    Approved,
    DecideAnswer,
    Done,
    NotAllowed,
    OtherAnswer,
    Rejected,
    SaveAnswer,
    SavedVersion,
    Stale,
    Unchanged,
)
from offsetwise.review.bundle import MAX_PACKED_BYTES
from offsetwise.store.review_rows import PlanRow
from offsetwise.wording import many

Answer = DecideAnswer | OtherAnswer | SaveAnswer
Take = Callable[[board.Seat, str, bytes], Answer]
"""Accepts a file by name and content, on behalf of a seat."""
_NAME: Final = 200
"""Characters of a file's name that messages repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    key: str
    title: str
    says: str
    verb: Verb
    ending: str
    largest_mb: int
    button: str


_APPROVAL: Final = Intake(
    key="bring-approval",
    title="An approval",
    says="Signed with `offsetwise sign`, or exported from another console. Its key has to be trusted by the access "
    "file here.",
    verb=Verb.IMPORT_ENVELOPE,
    ending="json",
    largest_mb=1,
    button="Take in the approval",
)
_RECEIPT: Final = Intake(
    key="bring-receipt",
    title="A receipt",
    says="What `offsetwise apply --execute` wrote. A receipt is not signed: that it was handed in, and by whom, is "
    "kept.",
    verb=Verb.ADD_RECEIPT,
    ending="json",
    largest_mb=files.MAX_BYTES // 2**20,
    button="Keep the receipt",
)
_BUNDLE: Final = Intake(
    key="bring-bundle",
    title="A review bundle of another console",
    says="A plan that was submitted there, with all that a reviewer needs; no cluster is asked. The approval goes back "
    "as a file.",
    verb=Verb.RECEIVE_BUNDLE,
    ending="gz",
    largest_mb=MAX_PACKED_BYTES // 2**20,
    button="Take in the bundle",
)
_ANOTHER: Final = NotAllowed(
    why="This page was drawn for somebody else.", fix="Reload the page, then bring the file in again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeAnswer:
    name: str
    about: str
    """What the page showed: another plan's page does not show the answer."""
    answer: Answer | Exception


def of_plan(seat: board.Seat, row: PlanRow) -> None:
    def approval(now: board.Seat, name: str, content: bytes) -> Answer:
        return now.board.import_envelope(now.person, row.id, ApprovalFile(name=name, content=content))

    def receipt(now: board.Seat, _: str, content: bytes) -> Answer:
        return now.board.add_receipt(now.person, row.id, content)

    generator, right = st.columns(2)
    with generator, guard.block("bring-approval"):
        _draw(seat, _APPROVAL, approval, plan=row.id)
    with right, guard.block("bring-receipt"):
        _draw(seat, _RECEIPT, receipt, plan=row.id)


def bundle(seat: board.Seat) -> None:
    def take(now: board.Seat, name: str, content: bytes) -> Answer:
        return now.board.receive_bundle(now.person, content, name=name)

    with guard.block("bring-bundle"):
        _draw(seat, _BUNDLE, take)


def _draw(seat: board.Seat, intake: Intake, take: Take, *, plan: int | None = None) -> None:
    about = f"{'demo' if seat.demo else 'own'} {plan}"
    refused = seat.board.why_not(seat.person, intake.verb, plan)
    with st.container(border=True):
        st.markdown(f"**{intake.title}**  \n:gray[{terms.said(intake.says)}]")
        if refused is not None:
            st.markdown(f":material/lock: {sentence(refused.why)}  \n:gray[{sentence(refused.fix)}]")
            return
        if (session := get_script_run_ctx()) is not None:
            uploads.offered.offer(session.session_id)
        chosen = st.file_uploader(
            intake.title,
            type=intake.ending,
            key=f"{intake.key}-file",
            max_upload_size=intake.largest_mb,
            label_visibility="collapsed",
        )
        if chosen is not None:
            st.button(
                intake.button,
                type="primary",
                icon=":material/upload_file:",
                key=intake.key,
                on_click=partial(_take, intake.key, about, seat, take),
            )
        draw(intake.key, about)


def _take(key: str, about: str, seat: board.Seat, take: Take) -> None:
    chosen = st.session_state.get(f"{key}-file")
    if chosen is not None:
        name, content = str(chosen.name)[:_NAME], chosen.getvalue()
        keep(key, name, about, seat, lambda now: take(now, name, content))


def keep(key: str, name: str, about: str, seat: board.Seat, verb: Callable[[board.Seat], Answer]) -> None:
    """Run a button's action, and keep the answer.

    Args:
        key: Key of the button.
        name: Name of the file that was brought in.
        about: What the page was drawn for.
        seat: The board and person the page was drawn with.
        verb: The action, called with the current seat, which is looked up again.
    """
    answer: Answer | Exception
    try:
        current_board, person = board.board(), board.person()
        answer = _ANOTHER if current_board is not seat.board else verb(board.Seat(board=current_board, person=person))
    except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
        answer = error
    st.session_state[f"{key}-told"] = IntakeAnswer(name=name, about=about, answer=answer)


def draw(key: str, about: str) -> None:
    result: IntakeAnswer | None = st.session_state.get(f"{key}-told")
    if result is None or result.about != about:
        return
    name, answer = markdown(result.name), result.answer
    match answer:
        case Approved():
            st.success(
                f"**✓ The approval in {name} is taken in:** {answer.counted:,} of {answer.required:,} asked for.",
                icon=":material/verified:",
            )
        case Rejected():
            st.warning(f"**✗ {name} is a rejection.** The plan is rejected.", icon=":material/block:")
        case Done():
            st.success(
                f"**✓ {name} is kept.** Plan {answer.plan:,} is {markdown(str(STATES[answer.state]))}.",
                icon=":material/task_alt:",
            )
        case SavedVersion():
            st.success(
                f"**✓ {name} is taken in as plan {answer.plan:,}.** It waits on Review for a decision; its digest is "
                f"`{answer.digest[:8]}…`.",
                icon=":material/task_alt:",
            )
        case Unchanged():
            st.info(f"**{name} was taken in before:** it is plan {answer.plan:,}.", icon=":material/info:")
        case AlreadyOpen():
            st.warning(f"**{name} was not taken in.** {sentence(answer.message)}", icon=":material/info:")
        case AlreadyDecided():
            st.info(f"**{name} changes nothing.** {sentence(answer.message)}", icon=":material/info:")
        case Stale():
            st.warning(
                f"**{name} is about an earlier version.** The newest has the digest `{answer.digest[:8]}…`, and only "
                "that can be decided about.",
                icon=":material/update:",
            )
        case NotAllowed():
            st.error(
                f"**Not taken in: {name}**  \n{sentence(answer.why)}  \n**What to do:** {sentence(answer.fix)}",
                icon=":material/lock:",
            )
        case Exception():
            blocks.failed(answer, key=f"{key}-failed")


def offer_handed(seat: board.Seat) -> None:
    for number, handed in enumerate(_handed):
        with guard.block(f"handed-{number}"), st.container(border=True):
            _offer(seat, handed, f"handed-{number}")


def _offer(seat: board.Seat, handed: Handed, key: str) -> None:
    bundle = handed.bundle
    st.markdown(
        f"**{markdown(handed.name)}** · plan `{bundle.plan_digest[:8]}…` of {markdown(bundle.plan.migration)}, "
        f"{many(len(bundle.plan.positions), 'partition')}  \n"
        f"Submitted by {markdown(named(bundle.submitted_by))} at {at(bundle.submitted_at_ms)} UTC. There it can be "
        f"decided until {at(bundle.expires_at_ms)} UTC."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if bundle.observed is not None:
            for label, page in (("Comparison", "compare"), ("Snapshots", "clusters")):
                st.page_link(
                    Path(f"pages/explore/{page}.py"),
                    label=label,
                    icon=":material/open_in_new:",
                    query_params={"migration": handed.migration},
                )
        with st.popover(f"Digest of the plan `{bundle.plan_digest[:8]}`"):
            st.code(bundle.plan_digest, language=None, wrap_lines=True)
            st.markdown(":gray[It has to be the one that the console shows where the bundle comes from.]")
        refused = seat.board.why_not(seat.person, Verb.RECEIVE_BUNDLE)
        if refused is None:
            st.button(
                "Take it in for review",
                icon=":material/inbox:",
                key=key,
                type="primary",
                on_click=partial(_take_handed, key, seat, handed),
            )
    if refused is not None:
        st.markdown(f":material/lock: {sentence(refused.why)}  \n:gray[{sentence(refused.fix)}]")
    draw(key, "handed")


def _take_handed(key: str, seat: board.Seat, handed: Handed) -> None:
    keep(
        key,
        handed.name,
        "handed",
        seat,
        lambda now: now.board.receive_bundle(now.person, handed.data, name=handed.name),
    )
