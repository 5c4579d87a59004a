"""The folder of a migration: the comparisons, plans, approvals and receipts that commands have written there.

`draft --wave NAME --out FOLDER/NAME` creates a subfolder for each set of plans, and the state of a migration depends on
all of them, so these are read too.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from offsetwise import files, regular_files
from offsetwise.apply.journal import Recorded, read_if_begun
from offsetwise.apply.journal_file import SUFFIX
from offsetwise.apply.receipts import read_receipt
from offsetwise.approval.envelope import ApprovalFile
from offsetwise.errors import FileError, OffsetwiseError
from offsetwise.model import ComparedJob, Cutover, FleetComparison, Plan, Receipt, StepState, Subject
from offsetwise.model.digest import digest
from offsetwise.plan.reading import read_plan
from offsetwise.plan.sets.file import SET_FILE

MOST_FILES: Final = 20_000
_READ: Final = (".json", SUFFIX, ".approval")
"""The suffixes of the files that are read."""
_HEADER: Final = re.compile(rb'"format": ?"offsetwise/([a-z-]+)"')
_ENVELOPE: Final = re.compile(rb'"payloadType": ?"application/vnd\.offsetwise')


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    path: str
    content: bytes
    document: Plan

    @property
    def digest(self) -> str:
        return digest(self.content)


@dataclass(slots=True, kw_only=True)
class WorkingFolder:
    """The content of a folder; unreadable files are listed and do not stop the reading."""

    path: Path
    comparisons: dict[str, ComparedJob] = field(default_factory=dict)
    """By `checkpoint NAME` or `group NAME`, the newest in the summaries that `compare --out` wrote."""
    compared_in: dict[str, Path] = field(default_factory=dict)
    """By the same names, the folder with the comparison."""
    plans: list[PlanFile] = field(default_factory=list)
    approvals: list[ApprovalFile] = field(default_factory=list)
    receipts: dict[str, tuple[str, Receipt]] = field(default_factory=dict)
    """By the plan's digest: the receipt's path, and its content."""
    journals: dict[str, tuple[str, Recorded]] = field(default_factory=dict)
    """By the plan's digest, likewise; the path is that of the receipt that the journal belongs to."""
    cutover: Cutover | None = None
    """The newest one."""
    unread: list[str] = field(default_factory=list)
    """Files that cannot be used, a sentence each."""


def read_folder(path: Path) -> WorkingFolder:
    """Read all our files that are directly in a folder, or in a subfolder with a set of plans.

    Raises:
        FileError: It is no folder, cannot be read, or has too many files.
    """
    folder = WorkingFolder(path=path)
    applications: dict[str, _Application] = defaultdict(_Application)
    for file in _files(path, folder.unread):
        try:
            _add(folder, applications, file)
        except (OffsetwiseError, OSError) as error:
            problem = error.problem if isinstance(error, OffsetwiseError) else f"{file}: {error.strerror or error}."
            folder.unread.append(problem)
    _choose(folder, applications)
    return folder


def _files(path: Path, unread: list[str]) -> Sequence[Path]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise FileError(
            f"{path}: expected the folder of the migration's comparisons, plans and receipts, but "
            f"{error.strerror or error}. Nothing was read.",
            fix="Name the folder that `compare --out` and `draft --out` write to, or leave --folder out.",
        ) from error
    paths = [path / name for name in names if name.endswith(_READ)]
    for folder in (path / name for name in names if os.path.isfile(path / name / SET_FILE)):
        try:
            paths += [folder / name for name in sorted(os.listdir(folder)) if name.endswith(_READ)]
        except OSError as error:
            unread.append(f"{folder}: {error.strerror or error}.")
    if len(paths) > MOST_FILES:
        raise FileError(
            f"{path}: expected at most {MOST_FILES:,} files, found {len(paths):,}. Nothing was read.",
            fix="Name the folder of one migration.",
        )
    return paths


@dataclass(slots=True, kw_only=True)
class _Application:
    """One application of a plan: its receipt, its journal, or both."""

    receipt: Receipt | None = None
    recorded: Recorded | None = None

    @property
    def order(self) -> tuple[bool, str]:
        """What is decisive of several applications of a plan: whether it was not taken back, then when it began."""
        steps = () if self.recorded is None else tuple(self.recorded.steps.values())
        taken_back = [record.undone is not None for record in steps]
        if not taken_back and self.receipt is not None:
            taken_back = [step.state is StepState.UNDONE for step in self.receipt.steps]
        of = self.recorded or self.receipt
        return not (taken_back and all(taken_back)), "" if of is None else of.begun_at


def _choose(folder: WorkingFolder, applications: Mapping[str, _Application]) -> None:
    """Keep the receipt and the journal of the decisive application of each plan, by the path of its receipt."""
    for path, application in sorted(applications.items(), key=lambda item: item[1].order):
        receipt, recorded = application.receipt, application.recorded
        if receipt is not None:
            folder.journals.pop(receipt.plan_digest, None)
            folder.receipts[receipt.plan_digest] = path, receipt
        if recorded is not None:
            if receipt is None:
                folder.receipts.pop(recorded.digest, None)
            folder.journals[recorded.digest] = path, recorded


def _add(folder: WorkingFolder, applications: dict[str, _Application], file: Path) -> None:
    if file.name == f"{SET_FILE}{SUFFIX}":
        return  # each plan of a set has its own journal with its progress
    if file.name.endswith(SUFFIX):
        recorded = read_if_begun(str(file))
        if recorded is not None:
            applications[str(file).removesuffix(SUFFIX)].recorded = recorded
        return
    content = regular_files.read_named(file, files.MAX_BYTES)
    header = _HEADER.search(content)
    kind = "" if header is None else header[1].decode()
    if kind == "plan":
        folder.plans.append(PlanFile(path=str(file), content=content, document=read_plan(content, subject=str(file))))
    elif kind == "receipt":
        applications[str(file)].receipt = read_receipt(str(file))
    elif kind == "fleet-comparison":
        summary: FleetComparison = files.load(content, kind, subject=str(file))
        _add_comparisons(folder, summary, file.parent)
    elif kind == "cutover":
        cutover: Cutover = files.load(content, kind, subject=str(file))
        if folder.cutover is None or cutover.taken_at > folder.cutover.taken_at:
            folder.cutover = cutover
    elif kind == "" and _ENVELOPE.search(content):
        folder.approvals.append(ApprovalFile(name=str(file), content=content))


def _add_comparisons(folder: WorkingFolder, summary: FleetComparison, path: Path) -> None:
    for name, job in _compared(summary):
        earlier = folder.comparisons.get(name)
        if earlier is None or (job.taken_at or "") > (earlier.taken_at or ""):
            folder.comparisons[name], folder.compared_in[name] = job, path


def _compared(summary: FleetComparison) -> Iterator[tuple[str, ComparedJob]]:
    for job in summary.jobs:
        yield str(Subject.either(checkpoint=job.checkpoint, group=job.group)), job
