"""Taking files out: each with its digest and what it is good for."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console import blocks, board, downloads, guard
from offsetwise.console.escaping import markdown
from offsetwise.console.exporting import derived, sentences
from offsetwise.errors import PlanError
from offsetwise.review.exports import ExportKind, commands
from offsetwise.review.sheet import Mark, Sheet
from offsetwise.store.review_rows import State
from offsetwise.wording import size

_STEPS = ("Try it: says what would be written, and writes nothing.", "Apply it.", "Verify what came of it.")
_SAYS: Final = {
    Mark.DRAFT: "A DRAFT: nobody may apply it.",
    Mark.APPROVED: "Approved.",
    Mark.APPLIED: "Applied already: for the records.",
}


def draw(seat: board.Seat, sheet: Sheet) -> None:
    """Draw every kind of file."""
    for kind in ExportKind:
        with guard.block(f"export-{kind}"), st.container(border=True):
            _kind(seat, sheet, kind)
    with guard.block("export-bundle"), st.container(border=True):
        _bundle(seat, sheet)


def on_command_line(sheet: Sheet) -> None:
    """Draw the exact commands that try, apply and verify the exported plan."""
    told = sheet.standing
    lines = commands(sheet.digest, approvals=len(told.counted), mark=told.mark)
    st.markdown(
        "In the folder with the downloaded files. The [migration file](help?about=Files) is yours: it names the "
        "clusters, and the keys that `apply` believes."
    )
    for step, line in zip(_STEPS[-1:] if told.mark is Mark.APPLIED else _STEPS, lines, strict=False):
        st.markdown(f":gray[{step}]")
        st.code(line, language=None, wrap_lines=True)
    if told.mark is Mark.DRAFT:
        st.markdown(":gray[How it is applied is said here once enough people approve it.]")


def _kind(seat: board.Seat, sheet: Sheet, kind: ExportKind) -> None:
    st.markdown(f"**{sentences.TITLES[kind]}**  \n:gray[{sentences.ABOUT[kind]}]")
    try:
        files = derived.files(seat, sheet, kind)
    except PlanError as error:
        st.markdown(f":material/block: {markdown(error.problem)}  \n:gray[{markdown(error.fix)}]")
        return
    if not files:
        st.markdown(":material/hourglass_empty: There is none that counts yet.")
    if kind is ExportKind.GROUPS_CSV and sentences.unseen(sheet.plan):
        st.markdown(
            ":material/visibility_off: A group's name has characters that cannot be seen, or letters of several "
            "scripts. Let `apply` write it."
        )
    for file in files:
        _file(file)
        lines = sentences.use(kind, file.export, sheet.plan)
        if lines is not None:
            st.code(lines, language=None, wrap_lines=True)


def _file(file: derived.File) -> None:
    name = file.export.name
    with downloads.beside(f"`{name}`  \n:gray[{size(len(file.export.content))}]"):
        with st.popover(f"SHA-256 `{file.sha256[:8]}`"):
            st.code(file.sha256, language=None)
            st.markdown(":gray[Where it arrived, shows whether it is whole:]")
            st.code(sentences.checking(file.export, file.sha256), language=None, wrap_lines=True)
        downloads.button(
            "Download",
            name,
            file.export.content,
            key=f"download-{name}",
            says=_SAYS[file.export.mark],
        )


def _bundle(seat: board.Seat, sheet: Sheet) -> None:
    st.markdown(
        "**Review bundle**  \n:gray[Plan, comparison, snapshots and discussion in one file, for a reviewer whose "
        "console reaches no cluster.]"
    )
    if sheet.row.state is not State.SUBMITTED or sheet.standing.submission is None:
        st.markdown(f":material/block: Only a submitted plan is sent to a reviewer; this one is {sheet.row.state}.")
        return
    name = f"plan-{sheet.digest[:8]}.review.gz"
    with downloads.beside(
        f"`{name}`  \n:gray[Its reviewer compares the plan's digest, `{sheet.digest[:8]}…`, with the one shown there.]"
    ):
        board_, person, plan = seat.board, seat.person, sheet.row.id
        failed = downloads.on_request(
            "the bundle",
            name,
            lambda: board_.bundle(person, plan).content,
            key="bundle",
            about=(seat.demo, sheet.digest, len(sheet.comments), sheet.standing.submission),
            says="Everything a reviewer needs.",
        )
    if failed is not None:
        blocks.failed(failed, key="bundle-failed")
    access = "" if seat.demo else " --access access.yaml"
    st.code(f"offsetwise console --bundle {name}{access}", language=None, wrap_lines=True)
