"""The plans of many jobs: read, sign, apply, verify and roll back together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from offsetwise import approval, files, model, new_files, workflow
from offsetwise.api import live
from offsetwise.api.plan import SUFFIX, Plan
from offsetwise.api.readers import SharedReaders
from offsetwise.api.receipt import Receipt
from offsetwise.api.set_members import Member, Written, require_approved, require_output, try_each
from offsetwise.apply.journal_file import SUFFIX as JOURNAL_SUFFIX
from offsetwise.apply.reversal import Standings
from offsetwise.apply.sets.journal import SetAction, SetEvent, SetJournal, applied_order, events_of
from offsetwise.apply.sets.outcomes import PlanOutcome, PlanStep, one_by_one, recorded
from offsetwise.approval.signing import LIFETIME
from offsetwise.approval.signing_sets import sign_set
from offsetwise.errors import OffsetwiseError, UsageError
from offsetwise.model import Cluster
from offsetwise.model.digest import digest
from offsetwise.plan.drift import Drift
from offsetwise.plan.reading import plan_bytes, read_plan
from offsetwise.plan.sets.file import MAX_SET_BYTES, SET_FILE, of_job, read_plan_set, require_plan_of
from offsetwise.plan.target import groups_of
from offsetwise.progress import Progress, no_progress

if TYPE_CHECKING:
    from offsetwise.api.migration import Migration

TakenBack: TypeAlias = Standings | tuple[model.ReceiptStep, ...]
"""The result of rolling back one plan: a preview; with `execute` its steps."""


def _ignore(_: object) -> None:
    return None


@dataclass(slots=True, kw_only=True)
class PlanSet:
    """Plans of several jobs, in the order in which they are applied, with every byte of the file that names them."""

    document: model.PlanSet
    """The content of the file."""
    content: bytes
    plans: tuple[Plan, ...]
    """The plans that it names, in its order."""
    migration: Migration | None = None
    path: Path | None = None
    """The path the file was read from or saved to; the plans' files are in the same folder."""

    @classmethod
    def of(cls, document: model.PlanSet, plans: Sequence[Plan], *, migration: Migration | None = None) -> Self:
        return cls(document=document, content=files.dump(document).encode(), plans=tuple(plans), migration=migration)

    @classmethod
    def load(cls, path: str | Path, *, migration: Migration | None = None) -> Self:
        """Read the file of a set, and the plans in its folder.

        Args:
            path: The file, or its folder if it is named `plan-set.json`.
            migration: The migration the plans were drafted with; without, they can only be read and signed.

        Raises:
            FileError: A file cannot be read, or is not the plan that the set names; the message has its path.
            PlanError: The set or a plan contradicts itself.
        """
        path = Path(path) / SET_FILE if Path(path).is_dir() else Path(path)
        content = _set_bytes(path)
        document = read_plan_set(content, subject=str(path))
        plans = []
        for entry in document.plans:
            file = path.parent / entry.file
            of_plan = plan_bytes(file)
            require_plan_of(entry, of_plan, subject=str(file))
            plan = read_plan(of_plan, subject=str(file))
            plans.append(Plan(document=plan, content=of_plan, migration=migration, path=file))
        return cls(document=document, content=content, plans=tuple(plans), migration=migration, path=path)

    def save(self, folder: str | Path) -> None:
        """Write the plans, each to a file of its own, and then the set that names them.

        None of the files may exist yet.

        Raises:
            FileError: A file exists, or cannot be written.
        """
        folder = Path(folder)
        for entry, plan in zip(self.document.plans, self.plans, strict=True):
            plan.save(folder / entry.file)
        self.path = folder / SET_FILE
        new_files.write_new(self.path, self.content)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file, hex."""
        return digest(self.content)

    def sign(
        self,
        key: approval.PrivateKey,
        *,
        expires_in: timedelta = LIFETIME,
        verdict: approval.Verdict = approval.Verdict.APPROVED,
        confirm: Sequence[str] = (),
    ) -> bytes:
        """Approve or reject exactly these plans with one approval.

        Args:
            key: The signer's key.
            expires_in: How long the approval is valid.
            verdict: Approved or rejected.
            confirm: The `confirmation` of each plan that cannot be undone, which shows that the signer knows that.

        Returns:
            The approval's file, for `write_approval`.

        Raises:
            NotApprovedError: The signer drafted or edited one of the plans, or did not confirm what cannot be undone.
            PlanError: A position of a plan has no proof.
            UsageError: An impossible lifetime.
        """
        if verdict is approval.Verdict.APPROVED:
            self._require_confirmed(confirm)
        return sign_set(
            self.content,
            [plan.content for plan in self.plans],
            key,
            now=datetime.now(UTC),
            expires_in=expires_in,
            verdict=verdict,
            name=str(self.path or "the set"),
        )

    def _require_confirmed(self, confirm: Sequence[str]) -> None:
        for entry, plan in zip(self.document.plans, self.plans, strict=True):
            try:
                plan.require_confirmed(plan.confirmation if plan.confirmation in confirm else None)
            except OffsetwiseError as error:
                raise of_job(entry.job, error) from error
        unasked = next((words for words in confirm if words not in {plan.confirmation for plan in self.plans}), None)
        if unasked is not None:
            self.plans[0].require_confirmed(unasked)

    def apply(
        self,
        *,
        output: str | Path | None = None,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: bool = False,
        keep_going: bool = False,
        heard: Callable[[PlanOutcome[Written]], None] = _ignore,
        progress: Progress = no_progress,
    ) -> tuple[PlanOutcome[Written], ...]:
        """Return what each plan would write; with `execute`, write them one after the other; see `Plan.apply`.

        Args:
            output: A folder; each plan that writes a copy or file gets a path in it, named after its job.
            approvals: The files of approvals, of the set or of single plans.
            trust: As for `Plan.apply`.
            execute: Write.
            keep_going: Whether to continue with the other plans after one that fails. A dry run always does.
            heard: Called with the outcome of each plan as soon as it is known.
            progress: Called with each step.

        Returns:
            One for each plan that was reached, with its dry run or receipt, or why it failed.

        Raises:
            NotApprovedError: A plan is not approved: nothing was written. With `keep_going` it is a failed plan.
            ApplyError: Another process works on this set, or its journal cannot be written.
        """
        members = self._members()
        require_output(members, output)
        call = {"approvals": approvals, "trust": trust, "progress": progress}
        if not execute:
            return try_each(members, output, heard, **call)
        if not keep_going:
            require_approved(members, approvals, trust)
        steps = [member.writing(output=member.output(output), **call) for member in members]
        with self._journal(progress) as (journal, time):
            running = [recorded(step, SetAction.APPLY, journal, time) for step in steps]
            return one_by_one(running, keep_going=keep_going, heard=heard)

    def rollback(
        self,
        *,
        approvals: Sequence[str | Path] = (),
        trust: Sequence[str | Path] = (),
        execute: bool = False,
        keep_going: bool = False,
        heard: Callable[[PlanOutcome[TakenBack]], None] = _ignore,
        progress: Progress = no_progress,
    ) -> tuple[PlanOutcome[TakenBack], ...]:
        """Return the state of the targets of applied plans; with `execute`, restore what was there before.

        The last applied plan comes first. Plans that were not applied are left out.

        Args:
            approvals: As for `Receipt.rollback`, which is called for each plan.
            trust: Likewise.
            execute: Roll back.
            keep_going: Whether to continue with the other plans after one that fails. A preview always does.
            heard: Called with the outcome of each plan as soon as it is known.
            progress: Called with each step.

        Raises:
            ApplyError: Another process works on this set, or its journal cannot be written.
        """
        call = {"approvals": approvals, "trust": trust, "progress": progress, "execute": execute}

        def steps(events: Iterable[SetEvent]) -> list[PlanStep[TakenBack]]:
            begun = {member.plan.digest: member for member in self._members() if member.is_begun}
            last_first = [*reversed(applied_order(begun, events))]
            return [begun[index].step(partial(begun[index].written.rollback, **call)) for index in last_first]

        if not execute or not any(member.is_begun for member in self._members()):
            return one_by_one(steps(events_of(self._journal_path, self.digest)), keep_going=True, heard=heard)
        with self._journal(progress) as (journal, time):
            # Read again: the previous holder of the journal may have applied more.
            running = [recorded(step, SetAction.ROLLBACK, journal, time) for step in steps(tuple(journal.events))]
            return one_by_one(running, keep_going=keep_going, heard=heard)

    def verify(
        self, *, heard: Callable[[PlanOutcome[model.Verification]], None] = _ignore
    ) -> tuple[PlanOutcome[model.Verification], ...]:
        """Verify every target of every plan; for a plan that was not applied, that is the error.

        The new cluster is read once for all of them, if a target is a group on it.

        Args:
            heard: Called with the outcome of each plan.

        Raises:
            UsageError: The set is not saved.
        """
        readers = self._readers()
        steps = [
            member.step(
                partial(Receipt(member.receipt, self.migration, plan=member.plan.content).verify, readers=readers)
            )
            for member in self._members()
        ]
        return one_by_one(steps, keep_going=True, heard=heard)

    def _readers(self) -> live.LiveReaders | None:
        """Return readers that read the new cluster once for all plans; None if the set has no migration."""
        if self.migration is None:
            return None
        documents = [plan.document for plan in self.plans]
        topics = tuple(sorted({position.new_topic for plan in documents for position in plan.positions}))
        groups = tuple(sorted(groups_of(target for plan in documents for target in plan.targets)))
        migration = self.migration.settings
        read = partial(live.LiveReaders(migration=migration).cluster, Cluster.NEW, topics, groups)
        return SharedReaders(migration=migration, new=cache(read))

    def drift(
        self, *, heard: Callable[[PlanOutcome[tuple[Drift, ...]]], None] = _ignore, progress: Progress = no_progress
    ) -> tuple[PlanOutcome[tuple[Drift, ...]], ...]:
        """Return what has changed since each plan was drafted. Each cluster is read once for all of them.

        Args:
            heard: Called with the outcome of each plan.
            progress: Called with each step.

        Raises:
            ClusterError: A cluster cannot be read at all.
        """
        settings = live.settings_of(self.plans[0].document, self.migration, None)
        read = workflow.shared_reading(settings, [plan.document for plan in self.plans], progress=progress)
        steps = [
            PlanStep(
                job=entry.job,
                plan=entry.digest,
                run=partial(workflow.drift, plan.document, settings, read=read, progress=progress),
            )
            for entry, plan in zip(self.document.plans, self.plans, strict=True)
        ]
        return one_by_one(steps, keep_going=True, heard=heard)

    def _members(self) -> tuple[Member, ...]:
        if self.path is None:
            raise UsageError(
                f"The set of plans {self.digest[:12]}: expected one whose plans have files, to write receipts beside "
                "them, found one that is not saved. Nothing was done.",
                fix="Save it: `save` writes the set and its plans into a folder.",
            )
        return tuple(
            Member(entry=entry, plan=plan, receipt=(self.path.parent / entry.file).with_suffix(SUFFIX))
            for entry, plan in zip(self.document.plans, self.plans, strict=True)
        )

    @property
    def _journal_path(self) -> str:
        return f"{self.path}{JOURNAL_SUFFIX}"

    @contextmanager
    def _journal(self, progress: Progress) -> Iterator[tuple[SetJournal, Callable[[], str]]]:
        """Yield the journal of the set, locked by this process, and a function that returns the time."""
        tools = live.tools_for(live.settings_of(self.plans[0].document, self.migration, None), progress)
        with SetJournal.open(self._journal_path, digest=self.digest, begun_at=tools.time(), disk=tools.disk) as journal:
            yield journal, tools.time


def _set_bytes(path: Path) -> bytes:
    return files.read_bytes(
        path,
        "a set of plans",
        fix=f"Give the {SET_FILE} that `offsetwise draft` wrote, or its folder.",
        most=MAX_SET_BYTES,
    )
