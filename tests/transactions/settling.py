"""A plan that ends transactions of a recorded savepoint, over a sink's cluster in a file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.disk import Disk
from offsetwise.apply.run import ApplyOrder, Tools
from offsetwise.apply.writers import TargetWriters
from offsetwise.approval import ApprovalPolicy
from offsetwise.config import JobTraits, Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Checkpoint, OpenPartition, Plan, Target, time_of
from offsetwise.plan.request import DraftRequest, SettlementChoice
from offsetwise.plan.sinks.ending import Ending, settle
from offsetwise.plan.sinks.settled import draft_settling
from offsetwise.plugins.kafka.targets.transactions.writer import SinkWriter
from offsetwise.progress import no_progress
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import SinkTransactions
from tests.apply.worlds import NOW, REVIEWER, approval
from tests.subjects import checkpoint
from tests.transactions.coordinator import CLUSTER_ID, FileSink, Held
from tests.transactions.recorded import DATA

TO_SINK = Target(kind="sink-transactions")
HANGING = Target(kind="hanging-transactions")
NOW_MS = int(NOW.timestamp() * 1000)
PREFIX = "tx"


def row(number: int, decision: Decision, **changes: Any) -> SinkTransaction:
    """Make a decided transaction: producer `number`, epoch 1, open from offset 10 times its number on."""
    made = SinkTransaction(
        transactional_id=f"{PREFIX}-{number}-7",
        producer_id=number,
        epoch=1,
        held=decision is Decision.COMMIT,
        held_state="received" if decision is Decision.COMMIT else None,
        broker_state="Ongoing",
        left_ms=600_000,
        decision=decision,
        reason="So it is.",
        deadline=time_of(NOW.replace(hour=13)),
        partitions=(OpenPartition(topic="sink", partition=0, start_offset=10 * number),),
    )
    return replace(made, **changes)


def found(*rows: SinkTransaction, **changes: Any) -> SinkTransactions:
    """Return what was decided about a job's transactions."""
    made = SinkTransactions(
        taken_at=time_of(NOW), cluster_id=CLUSTER_ID, complete=True, transactions=rows, end_txn_version=5
    )
    return replace(made, **changes)


def asked(*targets: Target, **changes: Any) -> DraftRequest:
    """Ask for a plan."""
    return replace(DraftRequest(targets=targets or (TO_SINK,), author="amy", subject=checkpoint("orders")), **changes)


def choice(name: str, decision: Any, reason: str = "The job is gone.") -> SettlementChoice:
    """Decide about a transaction that nothing explains."""
    return SettlementChoice(transactional_id=name, decision=decision, reason=reason, by="amy")


def settled(*rows: SinkTransaction, request: DraftRequest | None = None, job: JobTraits | None = None) -> Ending:
    """Plan the end of transactions."""
    return settle(
        found(*rows), cluster="old", topics=(), request=request or asked(), job=job or JobTraits(), now_ms=NOW_MS
    )


@dataclass
class SinkWorld:
    """Reads the savepoint as it is, and decides about transactions as their coordinators are."""

    live: LiveReaders
    sink: FileSink
    rows: Sequence[SinkTransaction]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.live, name)

    def transactions(self, plan: Plan) -> SinkTransactions:
        assert plan.requirements.sink is not None
        ids = self.sink.ids
        return found(*(self._now(each, ids) for each in self.rows))

    def _now(self, each: SinkTransaction, ids: Mapping[str, Held]) -> SinkTransaction:
        held = ids[str(each.transactional_id)]
        if held.state == "Ongoing":
            return replace(each, producer_id=held.producer_id, epoch=held.epoch)
        decision = Decision.SETTLED if each.held and held.state == "CompleteCommit" else Decision.NOTHING
        return replace(each, broker_state=held.state, decision=decision, left_ms=None, deadline=None, partitions=())


@dataclass
class Staged:
    """A plan in such a world, ready to be applied."""

    folder: Path
    plan: Plan
    migration: Migration
    sink: FileSink
    world: SinkWorld

    @property
    def receipt(self) -> str:
        return str(self.folder / "receipt.json")

    @property
    def data(self) -> bytes:
        return files.dump(self.plan).encode()

    def order(self) -> ApplyOrder:
        return ApplyOrder(
            plan_bytes=self.data,
            plan=self.plan,
            migration=self.migration,
            approvals=(approval(self.data),),
            policy=ApprovalPolicy(trusted=(REVIEWER.public,)),
        )

    def tools(self, disk: Disk | None = None) -> Tools:
        writers = TargetWriters(self.migration)
        writers[TO_SINK.kind] = SinkWriter(self.sink.connect)
        return Tools(readers=self.world, writers=writers, disk=disk or Disk(), now=lambda: NOW)


def stage(folder: Path, *, commits: int = 2, aborts: int = 2) -> Staged:
    """Lay out a savepoint, a cluster with its open transactions, and a plan that ends them."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "savepoint"
    shutil.copytree(DATA / "c50-incrementing/savepoint-3-pending", source)
    migration = Migration.model_validate(
        {
            "name": "test",
            "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
            "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
            "checkpoints": [{"name": "orders", "uri": str(source), "job": {"sink_cluster": "old"}}],
        }
    )
    kinds = [Decision.COMMIT] * commits + [Decision.ABORT] * aborts
    rows = [row(number, kind) for number, kind in enumerate(kinds)]
    sink = FileSink(
        folder / "sink.json", {str(each.transactional_id): Held(producer_id=n, epoch=1) for n, each in enumerate(rows)}
    )
    read: Checkpoint = read_checkpoint(str(source), roots=(str(folder),), history=0)
    plan = draft_settling(read, settled(*rows), migration, asked(), drafted_at=time_of(NOW))
    world = SinkWorld(live=LiveReaders(migration=migration, progress=no_progress), sink=sink, rows=rows)
    return Staged(folder=folder, plan=plan, migration=migration, sink=sink, world=world)
