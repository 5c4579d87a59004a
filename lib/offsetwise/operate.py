"""The verbs that write to the world: apply, go on, roll back. The command line imports this, never the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from offsetwise.apply import back, run
from offsetwise.apply.kafka_groups import KafkaGroups
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.world import LiveWorld
from offsetwise.apply.writers import writers
from offsetwise.approval import policy_for
from offsetwise.approval.key_files import read_approval
from offsetwise.config import Migration
from offsetwise.model import ReceiptStep, Verification
from offsetwise.plan.reading import plan_bytes, read_plan
from offsetwise.progress import Progress
from offsetwise.verify import LiveEyes
from offsetwise.verify import verify as verified


def tools_for(migration: Migration, progress: Progress) -> run.Tools:
    """Give what reads and writes the world of a migration."""
    world = LiveWorld(migration=migration, progress=progress)
    return run.Tools(world=world, writers=writers(KafkaGroups(migration.target)))


def order(plan: Path, migration: Migration, *, output: str | None = None) -> run.Order:
    """Read a plan. Nobody is asked whether it is approved.

    Raises:
        FileError: The plan cannot be read.
        PlanError: It contradicts itself.
    """
    content = plan_bytes(plan)
    return run.Order(plan_bytes=content, plan=read_plan(content, subject=str(plan)), migration=migration, output=output)


def with_approvals(wanted: run.Order, approvals: Sequence[Path], trust: Sequence[Path], receipt: Path) -> run.Order:
    """Read what says that a plan is approved, and whom to trust. Nothing of it is believed yet.

    Raises:
        NotApprovedError: An approval or a key cannot be read.
    """
    with run.telling_of_earlier(wanted, str(receipt)):
        return replace(
            wanted,
            approvals=tuple(read_approval(path) for path in approvals),
            policy=policy_for(wanted.migration.approval, trust),
        )


def dry_run(wanted: run.Order, receipt: Path, *, progress: Progress) -> run.DryRun:
    """Say what applying would do; see `apply.run.dry_run`."""
    return run.dry_run(wanted, tools_for(wanted.migration, progress), str(receipt))


def require(wanted: run.Order, made: run.DryRun, receipt: Path) -> None:
    """Go on only if a dry run found that everything holds; see `apply.run.require_held`."""
    run.require_held(wanted, made, str(receipt))


def apply(wanted: run.Order, receipt: Path, *, progress: Progress) -> run.Applied:
    """Apply a plan, or go on with it; see `apply.run.apply`."""
    return run.apply(wanted, str(receipt), tools_for(wanted.migration, progress))


def back_order(
    written: Path,
    migration: Migration,
    *,
    plan: Path | None = None,
    approvals: Sequence[Path] = (),
    trust: Sequence[Path] = (),
) -> back.BackOrder:
    """Read what a rollback goes by. Nothing of it is believed yet.

    Raises:
        FileError: The plan cannot be read.
        NotApprovedError: An approval or a key cannot be read.
    """
    return back.BackOrder(
        path=str(written),
        migration=migration,
        plan_bytes=None if plan is None else plan_bytes(plan),
        approvals=tuple(read_approval(path) for path in approvals),
        policy=policy_for(migration.approval, trust),
    )


def look_back(order: back.BackOrder, *, progress: Progress) -> back.Standings:
    """Say what a rollback would take back; see `apply.back.preview`."""
    return back.preview(order, tools_for(order.migration, progress))


def rollback(order: back.BackOrder, *, progress: Progress) -> tuple[ReceiptStep, ...]:
    """Take back what a plan wrote; see `apply.back.rollback`."""
    return back.rollback(order, tools_for(order.migration, progress))


def verify(
    receipt: Path, migration: Migration, *, plan: Path | None = None, checkpoint: str | None = None
) -> Verification:
    """Look at every target of a receipt; see `offsetwise.verify`. Nobody is asked whether its plan is approved."""
    read = read_receipt(str(receipt), None if plan is None else plan_bytes(plan))
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return verified(read, LiveEyes(migration=migration), verified_at=now, checkpoint=checkpoint)
