"""Bringing files in: an approval that was signed elsewhere, a receipt of what was applied, a bundle to review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from offsetwise import files
from offsetwise.approval import ApprovalFile
from offsetwise.console import board, guard, uploads
from offsetwise.console.escaping import markdown
from offsetwise.console.exporting import answers
from offsetwise.review.allowing import Verb
from offsetwise.review.bundle import MAX_PACKED_BYTES
from offsetwise.store.review_rows import PlanRow

Take = Callable[[board.Seat, str, bytes], answers.Answer]
"""Takes in a file with a name and content, as whoever sits there."""

_NAME: Final = 200
"""Characters of a file's name that are repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One kind of file that can be brought in."""

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


def of_plan(seat: board.Seat, row: PlanRow) -> None:
    """Draw what can be brought in for one plan."""

    def approval(now: board.Seat, name: str, content: bytes) -> answers.Answer:
        return now.board.import_envelope(now.person, row.id, ApprovalFile(name=name, content=content))

    def receipt(now: board.Seat, _: str, content: bytes) -> answers.Answer:
        return now.board.add_receipt(now.person, row.id, content)

    left, right = st.columns(2)
    with left, guard.block("bring-approval"):
        _draw(seat, _APPROVAL, approval, plan=row.id)
    with right, guard.block("bring-receipt"):
        _draw(seat, _RECEIPT, receipt, plan=row.id)


def bundle(seat: board.Seat) -> None:
    """Draw where a bundle is brought in."""

    def take(now: board.Seat, name: str, content: bytes) -> answers.Answer:
        return now.board.receive_bundle(now.person, content, name=name)

    with guard.block("bring-bundle"):
        _draw(seat, _BUNDLE, take)


def _draw(seat: board.Seat, intake: Intake, take: Take, *, plan: int | None = None) -> None:
    about = f"{'demo' if seat.demo else 'own'} {plan}"
    refused = seat.board.why_not(seat.person, intake.verb, plan)
    with st.container(border=True):
        st.markdown(f"**{intake.title}**  \n:gray[{intake.says}]")
        if refused is not None:
            st.markdown(f":material/lock: {markdown(refused.why)}  \n:gray[{markdown(refused.fix)}]")
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
        answers.draw(intake.key, about)


def _take(key: str, about: str, seat: board.Seat, take: Take) -> None:
    chosen = st.session_state.get(f"{key}-file")
    if chosen is not None:
        name, content = str(chosen.name)[:_NAME], chosen.getvalue()
        answers.keep(key, name, about, seat, lambda now: take(now, name, content))
