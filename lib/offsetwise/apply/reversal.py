"""Roll back what a plan wrote, the last target first.

A receipt, or a journal if there is no receipt, names the targets to inspect. What is written and removed follows from
the plan, which must be approved: whoever forges a receipt can put another plan in it, with its digest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from offsetwise.apply.journal import KIND, Journal, StepRecord, check_plan, read_if_begun, read_journal
from offsetwise.apply.journal_file import SUFFIX
from offsetwise.apply.receipts import places_of, receipt_and_plan, require_agreeing_records
from offsetwise.apply.run import Tools, context_of
from offsetwise.apply.writing import Context, SeenPlace
from offsetwise.approval import ApprovalFile, ApprovalPolicy, approved
from offsetwise.approval.policy import CLOCK_SKEW_S
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, FileError, NotApprovedError, OffsetwiseError
from offsetwise.model import Cluster, Plan, ReceiptStep, StepState
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.evidence import changed
from offsetwise.plan.reading import read_plan
from offsetwise.plan.target import Where, target_type


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOrder:
    path: str
    """The receipt; or its journal, if the application ended before the receipt."""
    migration: Migration
    plan_bytes: bytes | None = None
    """The plan's file; None to use the plan in the receipt."""
    approvals: tuple[ApprovalFile, ...] = ()
    """In addition to those in the receipt."""
    policy: ApprovalPolicy = field(default_factory=ApprovalPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """What a rollback would take back."""

    steps: tuple[ReceiptStep, ...]
    seen: tuple[SeenPlace, ...]
    """The current state of each target."""
    approval: str
    """One sentence: who approved the plan, or why `--execute` would be refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    plan_bytes: bytes
    plan: Plan
    begun_at: str
    steps: tuple[ReceiptStep, ...]
    """From a receipt; empty if there is only a journal."""
    envelopes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return digest_of(self.plan_bytes)


def preview(order: BackOrder, tools: Tools) -> Standings:
    """Return the state of every target that a rollback would undo. Writes nothing, and needs no approval.

    Raises:
        FileError: Neither a receipt nor a journal, or it does not agree with the plan.
        ApplyError: A journal without the plan.
    """
    evidence = _evidence(order)
    steps = evidence.steps or _steps(read_journal(order.path).steps, order.path)
    try:
        names = ", ".join(_approvers(order, evidence, tools))
        approval = f"Approved by {names}."
    except NotApprovedError as error:
        approval = f"Not approved as far as was shown, so --execute would be refused: {error.problem}"
    contexts = (_context(evidence, order, tools, number) for number in range(len(steps)))
    states = tuple(tools.look(evidence.plan, step, at) for step, at in zip(steps, contexts, strict=True))
    return Standings(steps=steps, seen=states, approval=approval)


def rollback(order: BackOrder, tools: Tools) -> tuple[ReceiptStep, ...]:
    """Undo every step, the last one first, and verify each. Calling it again continues.

    Returns:
        The steps in the order of the plan. One whose state is not `undone` could not be undone completely; it says why.

    Raises:
        FileError: Neither a receipt nor a journal, or it does not agree with the plan.
        NotApprovedError: No trusted person has approved exactly this plan, then or now.
        ApplyError: A step could not be undone. The message has the state of each target, and how to continue.
    """
    evidence = _evidence(order)
    _approvers(order, evidence, tools)
    _check_same(order, evidence, tools)
    path = order.path if order.path.endswith(SUFFIX) else order.path + SUFFIX
    with Journal.open(path, digest=evidence.digest, begun_at=evidence.begun_at, disk=tools.disk) as journal:
        # Without an output, the writer itself checks a path against the write roots.
        target_paths = places_of(evidence.plan, order.migration, None)
        require_agreeing_records(path, evidence.plan, evidence.digest, journal.records, paths=target_paths)
        steps = _by_journal(evidence.steps, journal, order.path) if evidence.steps else _steps(journal.records, path)
        noted = {n: StepRecord(done=step, notes=journal.record(n).notes) for n, step in enumerate(steps)}
        require_agreeing_records(path, evidence.plan, evidence.digest, noted, paths=target_paths)
        return _rolled_back(evidence, steps, journal, order, tools)


def _evidence(order: BackOrder) -> _Evidence:
    if not order.path.endswith(SUFFIX):
        receipt, data = receipt_and_plan(order.path, order.plan_bytes)
        journal_path = order.path + SUFFIX
        begun_at = receipt.begun_at
        recorded = read_if_begun(journal_path) if os.path.lexists(journal_path) else None
        if recorded is not None:
            check_plan(recorded.digest, receipt.plan_digest, journal_path)
            begun_at = recorded.begun_at
        return _Evidence(
            plan_bytes=data,
            plan=receipt.plan,
            begun_at=begun_at,
            steps=receipt.steps,
            envelopes=receipt.envelopes,
        )
    if order.plan_bytes is None:
        raise ApplyError(
            f"{order.path}: expected the plan that this journal is of, found none: a journal names it only. "
            "Nothing was changed.",
            fix="Give the plan's file with --plan, and its approval with --approval.",
        )
    plan = read_plan(order.plan_bytes, subject="the plan")
    recorded = read_journal(order.path)
    digest = digest_of(order.plan_bytes)
    check_plan(recorded.digest, digest, order.path)
    require_agreeing_records(order.path, plan, digest, recorded.steps, paths=places_of(plan, order.migration, None))
    return _Evidence(plan_bytes=order.plan_bytes, plan=plan, begun_at=recorded.begun_at, steps=())


def _approvers(order: BackOrder, evidence: _Evidence, tools: Tools) -> tuple[str, ...]:
    """Return who approved the plan: when it was applied, or since."""
    carried = (
        ApprovalFile(name=f"{order.path}, approval {number}", content=text.encode(errors="replace"))
        for number, text in enumerate(evidence.envelopes, start=1)
    )
    given = {file.content: file for file in (*order.approvals, *carried)}
    now = tools.now()
    counted = approved(
        evidence.plan_bytes,
        evidence.plan,
        tuple(given.values()),
        order.policy,
        now,
        begun_at=_begun(order, evidence.begun_at, now),
    )
    return tuple(approval.approver.subject for approval in counted)


def _begun(order: BackOrder, text: str, now: datetime) -> datetime:
    skew = CLOCK_SKEW_S if order.policy.clock_skew_s is None else order.policy.clock_skew_s
    try:
        begun = datetime.fromisoformat(text)
    except ValueError:
        begun = None
    if begun is None or begun.utcoffset() is None or begun > now + timedelta(seconds=skew):
        raise FileError(
            f"{order.path}: expected a time in the past at which the application began, found {text[:40]!r}. "
            "Nothing was written and nothing was removed.",
            fix="Synchronize the clocks of both machines. If they are right, restore this file from a copy, and find "
            "out who changed it.",
        )
    return begun


def _check_same(order: BackOrder, evidence: _Evidence, tools: Tools) -> None:
    expected = evidence.plan.requirements.new.cluster_id
    if evidence.plan.moves_nothing:
        return
    if evidence.plan.migration != order.migration.name:
        other = f"migration {order.migration.name!r}"
    elif any(target_type(target.kind).where is Where.CLUSTER for target in evidence.plan.targets):
        now = tools.readers.cluster(Cluster.NEW, (), ()).cluster_id
        if now == expected:
            return
        other = f"a new cluster with the id {now}"
    else:
        return
    raise ApplyError(
        f"{order.path}: expected migration {evidence.plan.migration!r} with the new cluster {expected}, found {other}. "
        "Nothing was changed.",
        fix="Give the migration file that the plan was applied with.",
    )


def _by_journal(steps: Sequence[ReceiptStep], journal: Journal, path: str) -> tuple[ReceiptStep, ...]:
    """Return the steps, after checking that this user's own journal agrees with the receipt."""
    for number, step in enumerate(steps):
        record = journal.record(number)
        known = record.done or record.intended
        if known is not None and known != step:
            raise changed(f"{journal.path} or {path}: expected one step {number + 1} in both, found two.")
    return tuple(steps)


def _rolled_back(
    evidence: _Evidence, steps: tuple[ReceiptStep, ...], journal: Journal, order: BackOrder, tools: Tools
) -> tuple[ReceiptStep, ...]:
    receipt_steps: list[ReceiptStep] = []
    for number in reversed(range(len(steps))):
        step = steps[number]
        context = _context(evidence, order, tools, number, journal)
        try:
            undone = tools.writers[step.target.kind].undo(evidence.plan, step, context)
            if undone.state is StepState.UNDONE:
                _check_back(evidence.plan, undone, tools, context)
        except OffsetwiseError as error:
            done = "".join(f" Taken back before it: {receipt_step.told}" for receipt_step in receipt_steps)
            remaining = "".join(f" Still as written: {receipt_step.told}" for receipt_step in steps[:number])
            raise type(error)(
                f"Target {number + 1} of {len(steps):,}, {step.target}: {error.problem}{done}{remaining}", fix=error.fix
            ) from error
        receipt_steps.append(undone)
    return tuple(reversed(receipt_steps))


def _check_back(plan: Plan, undone: ReceiptStep, tools: Tools, context: Context) -> None:
    problem = tools.writers[undone.target.kind].left(plan, undone, context)
    if problem is not None:
        raise ApplyError(
            f"It was taken back, and looked at again it is not as before: {problem}",
            fix="If it cannot be read, make it readable. If somebody else has written there since, stop that, and put "
            "it back by hand: it is not of this plan. Then run the same command again.",
        )


def _steps(records: Mapping[int, StepRecord], path: str) -> tuple[ReceiptStep, ...]:
    steps = []
    for number in range(max(records, default=-1) + 1):
        record = records.get(number, StepRecord())
        step = record.done or record.intended
        if step is None:
            raise ApplyError(
                f"{path}: expected every step up to {max(records)}, found none numbered {number}. "
                f"Nothing was changed; this is not a {KIND} that Offsetwise wrote.",
                fix="Restore the journal from a copy; without one, compare what is at the targets with the plan by "
                "hand.",
            )
        steps.append(step)
    return tuple(steps)


def _context(evidence: _Evidence, order: BackOrder, tools: Tools, step: int, journal: Journal | None = None) -> Context:
    return context_of(order.migration, digest=evidence.digest, step=step, disk=tools.disk, journal=journal)
