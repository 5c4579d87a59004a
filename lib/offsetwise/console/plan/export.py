"""The Export screen: a plan and its approvals as files, and the files that are brought back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import answers, board
from offsetwise.console.plan import intake, plans
from offsetwise.console.plan.panel import live, naming
from offsetwise.console.plan.panel.position_words import in_one_line
from offsetwise.console.plan.plan_status import caption, named, votes
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, terms
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.errors import ApplyError, PlanError
from offsetwise.model import Plan
from offsetwise.plan.exports import known_form, starting_form
from offsetwise.plan.target import TargetRole, groups_of, target_type
from offsetwise.ports.stream import terms_of
from offsetwise.review.exports import Destination, Export, ExportKind, commands, groups_command, output_of
from offsetwise.review.sheet import Sheet, SheetMark
from offsetwise.store.review_rows import State
from offsetwise.wording import clock, many, size
from offsetwise.wording.verdicts import Tone

_STEPS: Final = (
    (
        "2. Dry run",
        "Says what would be written, and writes nothing. In the folder with the unpacked files; the "
        "[migration file](help?about=Files) is yours: it names the clusters, and the keys that `apply` believes.",
    ),
    ("3. Apply", "With the job stopped. The same call again goes on where it ended."),
    ("Verify", "Before the job starts, and once more after it."),
)
_OTHER: Final = {True: "Other tools, and the files one by one", False: "The files one by one"}
_STYLE: Final = """<style>
[data-testid="stCode"] > div:last-child { opacity: 1; visibility: visible }
</style>"""
"""Commands are there to be copied; Streamlit shows its copy button only while the mouse is over them."""
_SAYS: Final = {
    SheetMark.DRAFT: "A DRAFT: nobody may apply it.",
    SheetMark.APPROVED: "Approved.",
    SheetMark.APPLIED: "Applied already: for the records.",
    SheetMark.WITHDRAWN: "WITHDRAWN: whoever signed it is no longer a reviewer here.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    export: Export
    sha256: str


_ABOUT: Final = {
    ExportKind.PLAN: ("Plan", "What `offsetwise apply` reads: every byte as it was decided about."),
    ExportKind.APPROVAL: (
        "Approvals",
        "The signed envelopes. `apply` believes these and its own list of keys, never this console.",
    ),
    ExportKind.GROUPS_CSV: ("Consumer group CSV", "For `kafka-consumer-groups`, where a group is reset by hand."),
}
"""Title and purpose of each kind; files with starting positions have their own."""
_WHY_DRAFT: Final = {
    State.DRAFT: "it was not submitted",
    State.SUBMITTED: "it waits for decisions",
    State.REJECTED: "it was rejected",
    State.WITHDRAWN: "it was withdrawn",
}


def show(head: guard.Head) -> None:
    head.says("Plans and approvals as files, for the command line. The console never applies one.")
    seat = board.seat()
    if seat is None:
        return
    now = datetime.now(UTC)
    with guard.block("plan"):
        chosen = plans.choose(live.listed(seat), now)
        sheet = None if chosen is None else seat.board.sheet(seat.person, chosen.id)
        if sheet is not None:
            terms.use(terms_of(sheet.plan.positions))
            head.says(caption(sheet, now))
            _plan(seat, sheet)
    st.header("From another console", anchor=False)
    intake.offer_handed(seat)
    intake.bundle(seat)


def _plan(seat: board.Seat, sheet: Sheet) -> None:
    st.html(_STYLE)
    with guard.block("standing"):
        _status(sheet)
    where = naming.destination_of(sheet.row, answers.current().offered)
    if sheet.status.mark is SheetMark.APPROVED:
        with guard.block("kit"):
            _kit(seat, sheet, where)
    with guard.block("commands"):
        on_command_line(sheet, where)
    if sheet.row.state is State.SUBMITTED:
        with guard.block("export-bundle"), st.container(border=True):
            _bundle(seat, sheet)
    with st.expander(_OTHER[sheet.status.mark is SheetMark.APPROVED], icon=":material/folder_zip:"):
        draw(seat, sheet, where)
    with st.expander("What came back: an approval or a receipt", icon=":material/upload_file:"):
        intake.of_plan(seat, sheet.row)


def _kit(seat: board.Seat, sheet: Sheet, destination: Destination) -> None:
    file = kit_of(seat, sheet, destination)
    st.header("1. Download", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            f"Download {file.export.name}",
            file.export.content,
            file_name=file.export.name,
            mime=file.export.mime,
            type="primary",
            icon=":material/download:",
            key="download-kit",
            on_click="ignore",
        )
        _sha256(file)
        st.markdown(
            f":gray[{size(len(file.export.content))}: the plan, {many(len(sheet.status.counted), 'approval')}, and a "
            "README with these commands.]",
            width="content",
        )


def _sha256(file: File) -> None:
    with st.popover(f"SHA-256 `{file.sha256[:8]}`"):
        st.code(file.sha256, language=None, wrap_lines=True)
        st.markdown(":gray[Where it arrived, shows whether it is whole:]")
        blocks.command(checking(file.export, file.sha256))


def kit_of(seat: board.Seat, sheet: Sheet, destination: Destination) -> File:
    """Return the archive with everything that `apply` needs.

    Raises:
        PlanError: Somebody has just changed the plan.
    """
    counted = tuple(hashlib.sha256(row.envelope).hexdigest() for row in sheet.status.counted)
    return _kit_of(sheet.digest, counted, destination, seat, sheet.row.id)


@cached(8)
def _kit_of(
    digest: str,
    counted: tuple[str, ...],  # noqa: ARG001 - the key
    destination: Destination,
    _seat: board.Seat,
    _plan: int,
) -> File:
    export = _seat.board.kit(_seat.person, _plan, destination)
    if export.digest != digest:
        raise _changed(_plan)
    return File(export=export, sha256=hashlib.sha256(export.content).hexdigest())


def _status(sheet: Sheet) -> None:
    why = why_draft(sheet)
    blocks.box(*((Tone.RIGHT, approved(sheet)) if why is None else (Tone.CAREFUL, why)))
    if sheet.plan.positions:
        st.markdown(in_one_line(sheet.digest, sheet.plan))
    with st.popover(f"Digest of the plan `{sheet.digest[:8]}`"):
        st.code(sheet.digest, language=None, wrap_lines=True)
        st.markdown(":gray[What the approvals name. It is the SHA-256 of the plan's file.]")


def draw(seat: board.Seat, sheet: Sheet, destination: Destination) -> None:
    for kind in kinds_of(sheet.plan):
        with guard.block(f"export-{kind}"), st.container(border=True):
            _kind(seat, sheet, kind, destination)


def kinds_of(plan: Plan) -> tuple[ExportKind, ...]:
    """Return the kinds of files that fit a plan: it must write something that the file describes."""
    starts = any(target_type(target.kind).role is TargetRole.START for target in plan.targets)
    is_told = starts and known_form(plan.targets, plan.requirements.engine) is not None
    left_out = {
        *(() if is_told else (ExportKind.STARTING_OFFSETS,)),
        *(() if _groups(plan) else (ExportKind.GROUPS_CSV,)),
    }
    return tuple(kind for kind in ExportKind if kind not in left_out)


def on_command_line(sheet: Sheet, destination: Destination) -> None:
    result = sheet.status
    output = output_of(sheet.plan, destination)
    lines = commands(sheet.digest, approvals=len(result.counted), mark=result.mark, output=output)
    steps = (
        _STEPS[-1:] if result.mark is SheetMark.APPLIED else _STEPS if result.mark is SheetMark.APPROVED else _STEPS[:1]
    )
    for (title, step), line in zip(steps, lines, strict=True):
        st.header(title if len(steps) > 1 else title.removeprefix("2. "), anchor=False)
        st.markdown(f":gray[{terms.said(step)}]")
        blocks.command(line)
    if result.mark is SheetMark.DRAFT:
        st.markdown(":gray[How it is applied is said here once enough people approve it.]")


def _kind(seat: board.Seat, sheet: Sheet, kind: ExportKind, destination: Destination) -> None:
    title, about = _described(kind, sheet.plan)
    st.markdown(f"**{title}**  \n:gray[{about}]")
    try:
        files = files_of(seat, sheet, kind)
    except (PlanError, ApplyError) as error:
        st.markdown(f":material/block: {sentence(error.problem)}  \n:gray[{sentence(error.fix)}]")
        return
    if not files:
        st.markdown(":material/hourglass_empty: There is none that counts yet.")
    if sheet.status.withdrawn and kind is ExportKind.APPROVAL:
        st.markdown(f":material/block: {markdown(withdrawn(sheet))}")
    if kind is ExportKind.GROUPS_CSV and unseen(sheet.plan):
        st.markdown(
            ":material/visibility_off: A group's name has characters that cannot be seen, or letters of several "
            "scripts. Let `apply` write it."
        )
    for file in files:
        _file(file)
        lines = use(kind, file.export, sheet.plan, destination)
        if lines is not None:
            st.code(lines, language=None, wrap_lines=True)


def _described(kind: ExportKind, plan: Plan) -> tuple[str, str]:
    if kind is not ExportKind.STARTING_OFFSETS:
        return _ABOUT[kind]
    form = starting_form(plan.targets, plan.requirements.engine)
    return form.name.replace("-", " ").capitalize(), form.about


def _file(file: File) -> None:
    name = file.export.name
    with downloads.to_the_right_of(f"`{name}`  \n:gray[{size(len(file.export.content))}]"):
        _sha256(file)
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
        f"{terms.said('console reaches no cluster.')}]"
    )
    name = f"plan-{sheet.digest[:8]}.review.gz"
    with downloads.to_the_right_of(
        f"`{name}`  \n:gray[Its reviewer compares the plan's digest, `{sheet.digest[:8]}…`, with the one shown there.]"
    ):
        board_, person, plan = seat.board, seat.person, sheet.row.id
        request = downloads.on_request(
            "Download the bundle",
            name,
            lambda: board_.bundle(person, plan).content,
            key="bundle",
            about=(seat.demo, sheet.digest, len(sheet.comments), sheet.status.submission),
            says="Everything a reviewer needs.",
        )
    downloads.reason(request, key="bundle-failed")
    access = "" if seat.demo else " --access access.yaml"
    blocks.command(f"offsetwise console --bundle {name}{access}")


def files_of(seat: board.Seat, sheet: Sheet, kind: ExportKind) -> tuple[File, ...]:
    """Return the files of one kind.

    Raises:
        PlanError: The plan cannot be expressed in that form, or somebody has just changed it.
    """
    result = sheet.status
    marked = dict.fromkeys(result.counted, result.mark) | dict.fromkeys(result.withdrawn, SheetMark.WITHDRAWN)
    approvals = tuple((hashlib.sha256(row.envelope).hexdigest(), mark) for row, mark in marked.items())
    return _files_of(sheet.digest, approvals, sheet.status.mark, kind, seat, sheet.row.id)


@cached(16)
def _files_of(
    digest: str,
    approvals: tuple[tuple[str, SheetMark], ...],
    mark: SheetMark,
    kind: ExportKind,
    _seat: board.Seat,
    _plan: int,
) -> tuple[File, ...]:
    files = tuple(
        File(export=export, sha256=hashlib.sha256(export.content).hexdigest())
        for export in _seat.board.export(_seat.person, _plan, kind)
    )
    results = tuple((file.sha256, file.export.mark) for file in files)
    as_shown = results == approvals if kind is ExportKind.APPROVAL else all(said is mark for _, said in results)
    if not as_shown or any(file.export.digest != digest for file in files):
        raise _changed(_plan)
    return files


def _changed(plan: int) -> PlanError:
    return PlanError(
        f"Plan {plan}: expected it as it is on this page, and somebody changed it just now. Nothing was exported.",
        fix="Reload the page: it shows the plan as it is now.",
    )


def why_draft(sheet: Sheet) -> str | None:
    """Explain why the files are marked DRAFT; None if they are not. Markdown."""
    result = sheet.status
    if result.mark is not SheetMark.DRAFT:
        return None
    why = _WHY_DRAFT.get(result.state, result.why_expired)
    if result.state is State.SUBMITTED:
        why = "its submission or an approval has expired" if result.expired else f"{why}: {votes(result)}"
    return f"**DRAFT: nobody may apply this.** Of version {sheet.row.number:,}, {sentence(why)}. `apply` refuses it."


def withdrawn(sheet: Sheet) -> str:
    names = ", ".join(named(row.by) for row in sheet.status.withdrawn)
    return (
        f"WITHDRAWN: {names} is no longer a reviewer here, so the approval does not count here. `apply` reads its own "
        "list of keys, not this console's: take the key, or the issuer that it vouches for, out of trusted_keys there."
    )


def approved(sheet: Sheet) -> str:
    """Describe who approved, and whether the plan was applied since. Markdown."""
    by = "  \n".join(
        f"{markdown(named(row.by))}, {clock(row.at_ms)}, good until {clock(row.expires_at_ms)}"
        for row in sheet.status.counted
    )
    count = many(len(sheet.status.counted), "approval")
    if sheet.status.mark is SheetMark.APPLIED:
        approval = f"It was approved here:  \n{by}" if by else "No approval of it is kept here."
        return f"**✓ Applied: version {sheet.row.number:,}.** Do not apply it again. {approval}"
    return f"**✓ Approved: version {sheet.row.number:,}, {count} of {sheet.status.required:,} asked for.**  \n{by}"


def use(kind: ExportKind, file: Export, plan: Plan, destination: Destination) -> str | None:
    """Return the commands of another tool that use a file; None if `apply` uses it, or nothing may."""
    if kind is ExportKind.STARTING_OFFSETS and file.mark is SheetMark.APPROVED:
        line = starting_form(plan.targets, plan.requirements.engine).use
        return None if line is None else line.format(file.name)
    if kind is ExportKind.GROUPS_CSV and file.mark is SheetMark.APPROVED and not unseen(plan):
        return groups_command(_groups(plan), file.name, destination)
    return None


def unseen(plan: Plan) -> bool:
    """Return whether a group's name contains characters that display differently: no inexact command is shown."""
    return any(plain(name) != name for name in _groups(plan))


def _groups(plan: Plan) -> tuple[str, ...]:
    return groups_of(plan.targets)


def checking(file: Export, sha256: str) -> str:
    return f"echo '{sha256}  {file.name}' | sha256sum --check"
