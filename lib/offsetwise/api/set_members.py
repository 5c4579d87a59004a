"""One plan of a set with the paths of its receipt, its journal and its output."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from offsetwise import model, regular_files
from offsetwise.api.plan import Plan
from offsetwise.api.receipt import Receipt
from offsetwise.apply import run
from offsetwise.apply.journal_file import SUFFIX
from offsetwise.apply.sets.outcomes import PlanOutcome, PlanStep
from offsetwise.errors import OffsetwiseError, UsageError
from offsetwise.plan.sets.file import PLAN_SUFFIX, of_job
from offsetwise.plan.target import Where, target_type

_T = TypeVar("_T")
_FIRST_BYTES: Final = 64 * 1024
"""Far more than the first line of a journal has."""
_UNUSUAL: Final = re.compile(r"[^a-zA-Z0-9._-]+")
Written: TypeAlias = run.DryRun | Receipt
"""The result of applying one plan: its dry run; with `execute` its receipt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One plan of a saved set."""

    entry: model.PlanOfSet
    plan: Plan
    receipt: Path
    """The path of its receipt, which may not exist yet."""

    @property
    def takes_output(self) -> bool:
        return any(target_type(target.kind).where is Where.OUTPUT for target in self.plan.document.targets)

    def output(self, folder: str | Path | None) -> str | None:
        """Return the path of its copy or file; None if it writes none.

        Characters that only some file systems allow are replaced, and the name then ends with the beginning of its
        SHA-256.
        """
        if folder is None or not self.takes_output:
            return None
        name = self.entry.file.removesuffix(PLAN_SUFFIX)
        usual = _UNUSUAL.sub("-", name)
        if usual != name:
            usual = f"{usual}-{sha256(name.encode()).hexdigest()[:8]}"
        return f"{str(folder).rstrip('/')}/{usual}"

    @property
    def journal(self) -> str:
        return f"{self.receipt}{SUFFIX}"

    @property
    def is_begun(self) -> bool:
        """Whether something of it may have been written.

        A journal without a complete line was torn by a crash before anything had begun.
        """
        return os.path.lexists(self.receipt) or (os.path.lexists(self.journal) and _has_line(self.journal))

    @property
    def written(self) -> Receipt:
        """What its rollback uses: the receipt, or the journal if it ended before that."""
        path = self.receipt if os.path.lexists(self.receipt) else self.journal
        return Receipt(path, self.plan.migration, plan=self.plan.content)

    def step(self, run_it: Callable[[], _T]) -> PlanStep[_T]:
        return PlanStep(job=self.entry.job, plan=self.entry.digest, run=run_it)

    def writing(self, **call: Any) -> PlanStep[Written]:
        return self.step(partial(self.plan.apply, execute=True, **call))

    def tried(self, **call: Any) -> PlanOutcome[Written]:
        """Return its dry run, with an error if it could not be applied."""
        result = None
        try:
            result = self.plan.apply(**call)
            self.plan.require(result)
        except OffsetwiseError as error:
            return PlanOutcome(job=self.entry.job, plan=self.entry.digest, result=result, error=error)
        return PlanOutcome(job=self.entry.job, plan=self.entry.digest, result=result, error=None)


def _has_line(path: str) -> bool:
    """Return whether a file has a complete line; True if it is unreadable, so that its next reader reports why."""
    try:
        return b"\n" in regular_files.read_named(path, _FIRST_BYTES)
    except OSError:
        return True


def try_each(
    members: Iterable[Member],
    folder: str | Path | None,
    heard: Callable[[PlanOutcome[Written]], None],
    **call: Any,
) -> tuple[PlanOutcome[Written], ...]:
    """Run a dry run of each plan, whatever the results of the others; see `PlanSet.apply`."""
    outcomes = []
    for member in members:
        outcomes.append(member.tried(output=member.output(folder), **call))
        heard(outcomes[-1])
    return tuple(outcomes)


def require_output(members: Iterable[Member], output: str | Path | None) -> None:
    """Raise if there is no output folder although a plan writes a copy or file.

    Raises:
        UsageError: A plan does.
    """
    writing = next((member for member in members if member.takes_output), None)
    if output is None and writing is not None:
        raise UsageError(
            f"apply: expected --output, the folder for the copies and files of the plans, found none: that of "
            f"{writing.entry.job} writes one. Nothing was written.",
            fix="Name a folder below a write root of the migration file: --output FOLDER. Each plan gets a name of its "
            "own in it.",
        )


def require_approved(members: Iterable[Member], approvals: Sequence[str | Path], trust: Sequence[str | Path]) -> None:
    """Raise unless every plan is approved, before the first one is written.

    Raises:
        NotApprovedError: One of them is not approved; the message says which.
    """
    for member in members:
        try:
            member.plan.require_approved(receipt=member.receipt, approvals=approvals, trust=trust)
        except OffsetwiseError as error:
            raise of_job(member.entry.job, error) from error
