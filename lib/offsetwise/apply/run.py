"""Apply a plan: check approvals, recheck, keep a journal, write target by target, and write a receipt.

The same call again continues where an earlier one ended: the journal next to the receipt records which steps began and
which are done, and each writer reads the current state before it writes. Of several processes that apply one plan with
one receipt, the one that holds the journal continues; the others are refused, or find the receipt.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from offsetwise.apply.disk import Disk
from offsetwise.apply.journal import Journal, StepRecord, check_plan, read_if_begun
from offsetwise.apply.journal_file import SUFFIX
from offsetwise.apply.readers import Readers
from offsetwise.apply.receipts import (
    parse_receipt,
    places_of,
    publish_receipt,
    require_agreeing_records,
    require_apart,
)
from offsetwise.apply.recheck import RecheckResult, recheck, require
from offsetwise.apply.recheck.accepting import accepted, require_needed
from offsetwise.apply.targets import write_targets
from offsetwise.apply.writers import TargetWriters, output_of
from offsetwise.apply.writing import Context, Preview, SeenPlace, StepStanding
from offsetwise.approval import ApprovalFile, ApprovalPolicy, approved
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, NotApprovedError, OffsetwiseError, OutputError, PlanError
from offsetwise.model import Approver, Outcome, Plan, Receipt, ReceiptStep, time_of
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.evidence import plan_of, require_agreeing
from offsetwise.plan.target import TargetRole, target_type

_OF_SET: Final = "For a set of plans, move this one and its journal out of the folder."


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOrder:
    plan_bytes: bytes
    """The plan's file, every byte."""
    plan: Plan
    """The plan parsed from `plan_bytes`."""
    migration: Migration
    output: str | None = None
    approvals: tuple[ApprovalFile, ...] = ()
    policy: ApprovalPolicy = field(default_factory=ApprovalPolicy)

    @property
    def digest(self) -> str:
        return digest_of(self.plan_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    readers: Readers
    writers: TargetWriters
    disk: Disk = field(default_factory=Disk)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        """Return the state of a step's output; `UNKNOWN` if it cannot be read."""
        try:
            return self.writers[step.target.kind].look(plan, step, context)
        except OffsetwiseError as error:
            return SeenPlace(standing=StepStanding.UNKNOWN, told=error.problem)

    def time(self) -> str:
        return time_of(self.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """One target that an earlier call has begun to write."""

    step: ReceiptStep
    """What it wrote, or was to write."""
    done: bool
    seen: SeenPlace
    """The current state of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What applying would do, and whether it could be done now."""

    plan_digest: str
    held: tuple[RecheckResult, ...]
    previews: tuple[Preview, ...]
    """One for each target that no earlier call has begun; empty if the plan is stale."""
    changes: bool
    """Whether anything would change."""
    begun: tuple[Begun, ...] = ()
    """One for each target that an earlier call has begun: the same call with `--execute` continues from there."""

    @property
    def failed(self) -> tuple[RecheckResult, ...]:
        """Requirements that fail or cannot be read: applying would be refused."""
        return tuple(result for result in self.held if result.outcome is not Outcome.PASSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    receipt: Receipt
    already: tuple[SeenPlace, ...] = ()
    """The current state of each target, if an earlier call had done everything."""


def dry_run(order: ApplyOrder, tools: Tools, receipt: str | None = None) -> DryRun:
    """Return what applying would do. Writes nothing and needs no approval; given ones may accept unproven positions.

    Args:
        order: The plan.
        tools: The readers and writers.
        receipt: The file that applying would write; if an earlier call has begun, its journal is read.

    Raises:
        NotApprovedError: A position is unproven, and the given approvals are not valid.
        PlanError: The plan belongs to another migration.
        OffsetwiseError: A target cannot be written now; the message says why.
    """
    _check_migration(order)
    records = _recorded(order, receipt)
    begun = tuple(
        Begun(step=step, done=record.whole, seen=tools.look(order.plan, step, _context(order, tools, number)))
        for number, record in sorted(records.items())
        if record.stands and (step := record.done or record.intended) is not None
    )
    if receipt is not None and os.path.lexists(receipt):
        applied = _already(order, receipt, tools, records)
        steps = zip(applied.receipt.steps, applied.already, strict=True)
        begun = tuple(Begun(step=step, done=True, seen=state) for step, state in steps)
        return DryRun(plan_digest=order.digest, held=(), previews=(), changes=False, begun=begun)
    remaining = [step for step in range(len(order.plan.targets)) if step not in records or not records[step].whole]
    results = recheck(order.plan, tools.readers, begun=[earlier.step.target for earlier in begun]) if remaining else ()
    results = _accepted_so_far(order, tools, results)
    if any(result.outcome is not Outcome.PASSED for result in results):
        return DryRun(plan_digest=order.digest, held=results, previews=(), changes=False, begun=begun)
    previews = tuple(
        tools.writers[target.kind].prepare(order.plan, target, _context(order, tools, step))
        for step, target in enumerate(order.plan.targets)
        if step not in records or not records[step].stands
    )
    changes = any(not earlier.done for earlier in begun) or any(
        preview.files or preview.transactions or any(offset.before != offset.offset for offset in preview.offsets)
        for preview in previews
    )
    return DryRun(plan_digest=order.digest, held=results, previews=previews, changes=changes, begun=begun)


@contextmanager
def telling_of_earlier(order: ApplyOrder, receipt: str) -> Iterator[None]:
    """Add to an error, which is about this call, what an earlier call with the same receipt has written."""
    try:
        yield
    except OffsetwiseError as error:
        path = f"{receipt}{SUFFIX}"
        try:
            earlier = _recorded(order, receipt).values()
            stand = [
                (past, step) for past in earlier if past.stands and (step := past.done or past.intended) is not None
            ]
        except OffsetwiseError as unread:
            report = f"What an earlier call wrote is unknown: {unread.problem}"
            raise type(error)(f"This call: {error.problem} {report}", fix=error.fix) from error
        if not stand:
            raise
        report = " ".join(
            f"Written by an earlier call: {step.told}"
            if record.whole
            else f"Begun by an earlier call and not finished: {step.target} at {step.place}."
            for record, step in stand
        )
        undo_hint = _take_back(path, (step for _, step in stand))
        raise type(error)(f"This call: {error.problem} {report}", fix=f"{error.fix} {undo_hint}".strip()) from error


def require_held(order: ApplyOrder, preview: DryRun, receipt: str) -> None:
    """Raise unless a dry run found that everything holds; see `recheck.require`."""
    with telling_of_earlier(order, receipt):
        require(order.digest, preview.held)


def apply(order: ApplyOrder, receipt: str, tools: Tools) -> Applied:
    """Write every target of an approved plan, or continue an earlier call.

    Args:
        order: The plan, its approvals, and the keys to trust.
        receipt: The file to write at the end. It is never overwritten; the journal is next to it.
        tools: The readers and writers.

    Raises:
        NotApprovedError: No trusted person has approved exactly this plan. Checked before anything else.
        StalePlanError: Something has changed since the review. This call wrote nothing.
        FileError: The existing journal or receipt contradicts the plan.
        ApplyError: A target could not be written. The message has the state of each target, and how to continue.
    """
    path = f"{receipt}{SUFFIX}"
    with telling_of_earlier(order, receipt):
        counted = approved(order.plan_bytes, order.plan, order.approvals, order.policy, tools.now())
        approvers = tuple(approval.approver for approval in counted)
        _check_migration(order)
        require_apart(receipt, order.plan, order.output)
    if os.path.lexists(receipt) and not os.path.lexists(path):
        return _believed(receipt, _already(order, receipt, tools, {}), own=False)
    fresh = not os.path.lexists(path)
    if fresh:
        # Before the journal is created, so that a stale plan leaves nothing behind.
        results = recheck(order.plan, tools.readers)
        fresh = not os.path.lexists(path)
        if fresh:
            _require(order, results, approvers)
        # Otherwise another process has begun meanwhile, and the differences are its work, as the journal shows.
    with Journal.open(path, digest=order.digest, begun_at=tools.time(), disk=tools.disk) as journal:
        _require_agreeing(order, path, journal.records)
        if os.path.lexists(receipt):
            own = all(journal.record(step).whole for step in range(len(order.plan.targets)))
            return _believed(receipt, _already(order, receipt, tools, journal.records), own=own)
        earlier = {step: record for step, record in journal.records.items() if record.stands}
        whole = {step: record.done for step, record in earlier.items() if record.whole and record.done is not None}
        with telling_of_earlier(order, receipt):
            _require_standing(order, tools, whole, path)
            if (earlier or not fresh) and len(whole) < len(order.plan.targets):
                begun = [order.plan.targets[step] for step in sorted(earlier)]
                _require(order, recheck(order.plan, tools.readers, begun=begun), approvers)
        steps = _written(order, tools, journal)
        _require_standing(order, tools, {step: steps[step] for step in earlier if step not in whole}, path)
        written = Receipt(
            plan_digest=order.digest,
            plan=order.plan,
            approvers=approvers,
            begun_at=journal.begun_at,
            steps=steps,
            ended_at=tools.time(),
            envelopes=tuple(approval.file.content.decode() for approval in counted),
        )
        publish_receipt(receipt, written, tools.disk)
        return Applied(receipt=written)


def _require(order: ApplyOrder, results: tuple[RecheckResult, ...], approvers: tuple[Approver, ...]) -> None:
    """Raise unless everything holds, or the approvers accepted that it cannot be proven any more."""
    results = accepted(results, approvers, order.policy.required)
    require(order.digest, results)
    require_needed(order.digest, results, approvers)


def _accepted_so_far(order: ApplyOrder, tools: Tools, checks: tuple[RecheckResult, ...]) -> tuple[RecheckResult, ...]:
    """Mark what the given approvals accept as passed; they are verified only if they are needed for that."""
    if not order.approvals or not checks:
        return checks
    try:
        counted = approved(order.plan_bytes, order.plan, order.approvals, order.policy, tools.now())
    except NotApprovedError:
        if any(result.unproven for result in checks):
            raise
        return checks
    approvers = tuple(approval.approver for approval in counted)
    results = accepted(checks, approvers, order.policy.required)
    if all(result.outcome is Outcome.PASSED for result in results):
        require_needed(order.digest, results, approvers)
    return results


def _require_standing(order: ApplyOrder, tools: Tools, steps: Mapping[int, ReceiptStep], path: str) -> None:
    for number, step in sorted(steps.items()):
        state = tools.look(order.plan, step, _context(order, tools, number))
        if state.standing is not StepStanding.AS_WRITTEN:
            raise ApplyError(
                f"{path}: expected what it says was written to be there, found {step.target} {state.standing}: "
                f"{state.told} Nothing was written now.",
                fix="If the job has begun, do not apply again. Else find out who changed it, and draft the plan again.",
            )


def _believed(receipt: str, applied: Applied, *, own: bool) -> Applied:
    """Return a receipt if its targets exist, as written or, if this user's journal exists too, changed since."""
    for step, state in zip(applied.receipt.steps, applied.already, strict=True):
        if state.standing is StepStanding.ABSENT or (state.standing is not StepStanding.AS_WRITTEN and not own):
            raise ApplyError(
                f"{receipt}: expected what it says was written to be there, found {step.target} {state.standing}: "
                f"{state.told} Nothing was written now.",
                fix="If the job has begun, `offsetwise verify` tells where. To apply the plan, give another --receipt.",
            )
    return applied


def _written(order: ApplyOrder, tools: Tools, journal: Journal) -> tuple[ReceiptStep, ...]:
    contexts = tuple(_context(order, tools, number, journal) for number in range(len(order.plan.targets)))
    try:
        return write_targets(order.plan, contexts, tools.writers)
    except OffsetwiseError as error:
        begun = (step for number in journal.steps if (step := journal.record(number).intended) is not None)
        raise type(error)(error.problem, fix=f"{error.fix} {_take_back(journal.path, begun)}".strip()) from error


def _recorded(order: ApplyOrder, receipt: str | None) -> Mapping[int, StepRecord]:
    path = f"{receipt}{SUFFIX}"
    recorded = None if receipt is None or not os.path.lexists(path) else read_if_begun(path)
    if recorded is None:
        return {}
    check_plan(recorded.digest, order.digest, path)
    _require_agreeing(order, path, recorded.steps)
    return recorded.steps


def _require_agreeing(order: ApplyOrder, path: str, records: Mapping[int, StepRecord]) -> None:
    if records:
        target_paths = places_of(order.plan, order.migration, order.output)
        require_agreeing_records(path, order.plan, order.digest, records, paths=target_paths)


def _take_back(journal: str, begun: Iterable[ReceiptStep]) -> str:
    """Return the rollback command; empty if nothing can be undone, as for ended transactions."""
    if all(target_type(step.target.kind).role is TargetRole.TRANSACTIONS for step in begun):
        return ""
    given = "--plan … --approval … --migration … --execute"
    return f"To take back what this plan wrote: offsetwise rollback {journal} {given}"


def _already(order: ApplyOrder, receipt: str, tools: Tools, records: Mapping[int, StepRecord]) -> Applied:
    receipt_found = parse_receipt(receipt)
    if receipt_found.plan_digest != order.digest:
        raise OutputError(
            f"{receipt}: expected no receipt, or that of plan {order.digest[:12]}, found that of plan "
            f"{receipt_found.plan_digest[:12]}. Nothing was written.",
            fix=f"Give another --receipt. {_OF_SET}",
        )
    plan_of(receipt_found, order.plan_bytes, subject=receipt)
    target_paths = places_of(order.plan, order.migration, order.output)
    require_agreeing(receipt, order.plan, order.digest, receipt_found.steps, locations=target_paths)
    undone = [record for record in records.values() if record.undone is not None]
    undoing = [record for record in records.values() if record.undoing]
    if undone or undoing:
        raise ApplyError(
            f"{receipt}: plan {order.digest[:12]} was applied with this receipt and then rolled back"
            f"{'' if len(undone) == len(receipt_found.steps) else ' in part'}. Nothing was written now.",
            fix=f"To apply it again, finish the rollback and give another --receipt. {_OF_SET}",
        )
    states = tuple(
        tools.writers[step.target.kind].look(order.plan, step, _context(order, tools, number))
        for number, step in enumerate(receipt_found.steps)
    )
    return Applied(receipt=receipt_found, already=states)


def _context(order: ApplyOrder, tools: Tools, step: int, journal: Journal | None = None) -> Context:
    return context_of(
        order.migration,
        digest=order.digest,
        output=output_of(order.plan.targets, step, order.output),
        step=step,
        journal=journal,
        disk=tools.disk,
    )


def context_of(
    migration: Migration,
    *,
    digest: str,
    step: int,
    disk: Disk,
    output: str | None = None,
    journal: Journal | None = None,
) -> Context:
    return Context(
        digest=digest,
        output=output,
        write_roots=migration.write_roots,
        read_roots=migration.checkpoint_roots,
        step=step,
        journal=journal,
        disk=disk,
    )


def _check_migration(order: ApplyOrder) -> None:
    if order.plan.moves_nothing:
        return  # it belongs to no migration
    if order.plan.migration != order.migration.name:
        raise PlanError(
            f"Plan {order.digest[:12]}: expected a plan of migration {order.migration.name!r}, found one of "
            f"{order.plan.migration!r}. Nothing was written.",
            fix="Give the migration file that the plan was drafted with.",
        )
