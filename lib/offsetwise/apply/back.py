"""Taking back what a plan wrote, from its receipt or from its journal alone, the last target first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from offsetwise.apply.confined import require_confined
from offsetwise.apply.digests import sha256_of_file
from offsetwise.apply.journal import KIND, Journal, StepRecord, read_journal
from offsetwise.apply.run import Tools, context_of, read_receipt
from offsetwise.apply.writers import Writers
from offsetwise.apply.writing import Context, Seen, Standing
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, OffsetwiseError
from offsetwise.model import Cluster, ReceiptStep, StepState, TargetKind

_SUFFIX = ".journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """What a rollback would take back."""

    steps: tuple[ReceiptStep, ...]
    seen: tuple[Seen, ...]
    """What stands at each now."""


def preview(path: str, migration: Migration, tools: Tools) -> Standings:
    """Say what stands at every target that a rollback would take back. Writes nothing.

    Raises:
        FileError: Neither a receipt nor a journal.
    """
    if path.endswith(_SUFFIX):
        recorded = read_journal(path)
        require_confined(path, recorded.steps.values())
        steps, digest = _steps(recorded.steps, path), recorded.digest
    else:
        receipt = read_receipt(path)
        steps, digest = receipt.steps, receipt.plan_digest
    seen = tuple(_looked(step, tools.writers, _context(migration, tools, digest, n)) for n, step in enumerate(steps))
    return Standings(steps=steps, seen=seen)


def rollback(path: str, migration: Migration, tools: Tools) -> tuple[ReceiptStep, ...]:
    """Take back every step, the last one first, and look that it is so. The same call again goes on.

    Args:
        path: The receipt; or its journal, where an application ended before its receipt.
        migration: The migration of the plan.
        tools: What reads and writes the world.

    Returns:
        The steps in the order of the plan. One whose state is not `undone` could not be taken back whole; it says why.

    Raises:
        FileError: Neither a receipt nor a journal.
        ApplyError: A step could not be taken back. The message says what stands where now, and how to go on.
    """
    if path.endswith(_SUFFIX):
        with Journal.open(path, digest=None, begun_at=tools.time(), disk=tools.disk) as journal:
            require_confined(path, journal.records.values())
            steps = _steps(journal.records, path)
            if journal.migration is not None:
                _check_same(path, steps, migration, tools, named=journal.migration, new_cluster=journal.new_cluster)
            return _rolled_back(steps, journal, migration, tools)
    receipt = read_receipt(path)
    plan = receipt.plan
    new_cluster = plan.requirements.new.cluster_id
    _check_same(path, receipt.steps, migration, tools, named=plan.migration, new_cluster=new_cluster)
    with Journal.open(
        path + _SUFFIX, digest=receipt.plan_digest, begun_at=receipt.begun_at, disk=tools.disk
    ) as journal:
        # What the journal notes is what is moved and removed, and it is held against the receipt's own places.
        noted = [replace(journal.record(n), intended=step) for n, step in enumerate(receipt.steps)]
        require_confined(path + _SUFFIX, (*journal.records.values(), *noted))
        return _rolled_back(receipt.steps, journal, migration, tools)


def _check_same(
    path: str,
    steps: tuple[ReceiptStep, ...],
    migration: Migration,
    tools: Tools,
    *,
    named: str,
    new_cluster: str | None,
) -> None:
    """Refuse to take back on another cluster than was written to."""
    if named != migration.name:
        found = f"migration {migration.name!r}"
    elif any(step.target.kind is TargetKind.CONSUMER_GROUP for step in steps):
        now = tools.world.cluster(Cluster.NEW, (), ()).cluster_id
        if now == new_cluster:
            return
        found = f"a new cluster with the id {now}"
    else:
        return
    raise ApplyError(
        f"{path}: expected migration {named!r} with the new cluster {new_cluster}, found {found}. Nothing was changed.",
        fix="Give the migration file that the plan was applied with.",
    )


def _rolled_back(
    steps: tuple[ReceiptStep, ...], journal: Journal, migration: Migration, tools: Tools
) -> tuple[ReceiptStep, ...]:
    made: list[ReceiptStep] = []
    for number in reversed(range(len(steps))):
        step = steps[number]
        context = _context(migration, tools, journal.digest, number, journal)
        try:
            undone = tools.writers[step.target.kind].undo(step, context)
            if undone.state is StepState.UNDONE:
                _check_back(step, undone, tools.writers, context)
        except OffsetwiseError as error:
            done = "".join(f" Taken back before it: {each.told}" for each in made)
            left = "".join(f" Still as written: {each.told}" for each in steps[:number])
            raise type(error)(
                f"Target {number + 1} of {len(steps)}, {step.target}: {error.problem}{done}{left}", fix=error.fix
            ) from error
        made.append(undone)
    return tuple(reversed(made))


def _check_back(step: ReceiptStep, undone: ReceiptStep, writers: Writers, context: Context) -> None:
    """Look again, rather than believe."""
    if step.target.kind is TargetKind.SPARK_CHECKPOINT_IN_PLACE:
        paths = {os.path.join(step.place, one.path): one.before_sha256 for one in step.files}
        wrong = next((path for path, before in paths.items() if sha256_of_file(path) != before), None)
        problem = None if wrong is None else f"{wrong} is not as it was before."
    else:
        seen = writers[step.target.kind].look(undone, context)
        wanted = Standing.AS_WRITTEN if step.target.kind is TargetKind.CONSUMER_GROUP else Standing.ABSENT
        problem = None if seen.standing is wanted else seen.told
    if problem is not None:
        raise ApplyError(
            f"It was taken back, and looked at again it is not as before: {problem}",
            fix="Find out who else writes there, then give the same command again.",
        )


def _steps(records: Mapping[int, StepRecord], path: str) -> tuple[ReceiptStep, ...]:
    made = []
    for number in range(max(records, default=-1) + 1):
        record = records.get(number, StepRecord())
        step = record.done or record.intended
        if step is None:
            raise ApplyError(
                f"{path}: expected every step up to {max(records)}, found none numbered {number}. "
                f"Nothing was changed; this is no {KIND} of ours.",
                fix="Compare what stands at the targets with the plan by hand.",
            )
        made.append(step)
    return tuple(made)


def _looked(step: ReceiptStep, writers: Writers, context: Context) -> Seen:
    try:
        return writers[step.target.kind].look(step, context)
    except OffsetwiseError as error:
        return Seen(standing=Standing.UNKNOWN, told=error.problem)


def _context(migration: Migration, tools: Tools, digest: str, step: int, journal: Journal | None = None) -> Context:
    return context_of(migration, digest=digest, step=step, disk=tools.disk, journal=journal)
