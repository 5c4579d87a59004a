"""A savepoint whose transactions are marked, applied: looked at again, written, verified, taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.api.readers import LiveReaders
from offsetwise.apply import reversal
from offsetwise.apply.run import apply, dry_run
from offsetwise.apply.verification import verify
from offsetwise.apply.writing import StepStanding
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import PlanError, StalePlanError
from offsetwise.model import MarkedTransaction, SeenTransaction, SinkRequirement, Target, Turnout
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import SinkTransactions
from tests.apply.plans import SAVEPOINT, context, files_of, flink_savepoint, tree_hash
from tests.apply.worlds import Stage, stage
from tests.plan.test_sinks import HELD, OTHER, said
from tests.plan.test_sinks import plan as drafted_anew
from tests.plan.test_sinks import row as marked
from tests.with_cases import with_cases

SAMPLE = "flink-2.3-pending-transaction"
WITHOUT = Target(kind="flink-savepoint-without-sources")
TARGETS = [SAVEPOINT, WITHOUT]


def row(decision: Decision = Decision.SETTLED, state: str = "CompleteCommit") -> SinkTransaction:
    return SinkTransaction(
        transactional_id=MARK.transactional_id,
        producer_id=MARK.producer_id,
        epoch=MARK.epoch,
        held=True,
        held_state="received",
        broker_state=state,
        left_ms=None,
        decision=decision,
        reason="It is so.",
    )


def marks() -> MarkedTransaction:
    (one,) = read_checkpoint(str(_SAMPLE)).details.transactions
    assert one.producer_id is not None
    assert one.epoch is not None
    return MarkedTransaction(
        transactional_id=one.transactional_id, producer_id=one.producer_id, epoch=one.epoch, reason="It is committed."
    )


_SAMPLE = Path(__file__).parents[3] / "data" / "checkpoints" / SAMPLE
MARK = marks()


def staged(
    folder: Path,
    target: Target,
    now: SinkTransaction | None = None,
    cluster_id: str = "id-sink",
    since: Sequence[SinkTransaction] = (),
) -> Stage:
    """Stage a plan that marks the one transaction, beside a cluster of the sink that says something of it."""
    made = stage(folder, target, sample=SAMPLE)
    seen = SeenTransaction(
        transactional_id=MARK.transactional_id,
        producer_id=MARK.producer_id,
        epoch=MARK.epoch,
        state="CompleteCommit",
        decision="SETTLED",
        partitions=(),
    )
    sink = SinkRequirement(name="old", cluster_id="id-sink", states=(seen,))
    made.plan = replace(made.plan, marks=(MARK,), requirements=replace(made.plan.requirements, sink=sink))
    found = SinkTransactions(
        taken_at="2026-11-21T12:00:00.000Z", cluster_id=cluster_id, complete=True, transactions=(now or row(), *since)
    )
    made.world.sink = lambda: found
    return made


@with_cases("target", TARGETS)
def test_29_the_copy_differs_in_the_state_alone_from_one_that_is_not_marked(tmp_path: Path, target: Target) -> None:
    plain = stage(tmp_path / "plain", target, sample=SAMPLE)
    unmarked = Path(apply(plain.order(), plain.receipt, plain.tools()).receipt.steps[0].place)
    made = staged(tmp_path / "marked", target)
    before = tree_hash(made.source)

    (shown,) = dry_run(made.order(approved=False), made.tools()).previews
    assert shown.told.endswith("and 1 transaction of the sink marked as committed.")
    assert [(each.path, each.what) for each in shown.files] == [("_metadata", "edited")]

    receipt = apply(made.order(), made.receipt, made.tools()).receipt
    copy = Path(receipt.steps[0].place)
    one, other = (unmarked / "_metadata").read_bytes(), (copy / "_metadata").read_bytes()
    differing = [at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    assert [(one[at], other[at]) for at in differing] == [(0, 3)]
    assert {name: data for name, data in files_of(copy).items() if name != "_metadata"} == {
        name: data for name, data in files_of(unmarked).items() if name != "_metadata"
    }
    assert [each.state for each in read_checkpoint(str(copy)).details.transactions] == ["committed"]
    assert [each.state for each in read_checkpoint(str(unmarked)).details.transactions] == ["received"]
    verified = verify(receipt, LiveReaders(migration=made.migration), verified_at="now")
    assert {each.turnout for each in verified.positions} == {Turnout.CONFIRMED}

    reversal.rollback(made.back(), made.tools())
    assert not copy.exists()
    assert tree_hash(made.source) == before


@with_cases(
    ("now", "cluster_id", "told"),
    [
        (row(Decision.UNKNOWN, "Ongoing"), "id-sink", "reviewed CompleteCommit (SETTLED), now Ongoing (UNKNOWN)"),
        (row(Decision.LOST, "CompleteAbort"), "id-sink", "now CompleteAbort (LOST)"),
        (row(), "another", "cluster id: reviewed id-sink, now another"),
    ],
)
def test_29_a_transaction_that_is_no_longer_settled_stops_everything(
    tmp_path: Path, now: SinkTransaction, cluster_id: str, told: str
) -> None:
    made = staged(tmp_path, SAVEPOINT, now, cluster_id)
    before = tree_hash(tmp_path)

    assert [told in each.told for each in dry_run(made.order(approved=False), made.tools()).failed] == [True]
    with pytest.raises(StalePlanError, match="Nothing was written") as caught:
        apply(made.order(), made.receipt, made.tools())

    assert told in caught.value.problem
    assert tree_hash(tmp_path) == before


def later(decision: Decision, *, held: bool) -> SinkTransaction:
    """Return a transaction that nobody knew of when the plan was signed."""
    changes = {"transactional_id": "tx-0-9", "producer_id": 99, "epoch": 0, "held": held, "held_state": None}
    return replace(row(decision, "Ongoing"), **changes)  # type: ignore[arg-type]


@with_cases("held", [False, True], ids=["not held", "held"])
@with_cases("decision", Decision)
def test_what_a_draft_of_the_same_marks_is_refused_for_makes_a_signed_plan_stale(
    tmp_path: Path, decision: Decision, held: bool
) -> None:
    since = later(decision, held=held)
    fresh = ""
    try:
        drafted_anew(said(marked(HELD), marked(OTHER), since))
    except PlanError as refused:
        fresh = refused.problem
    made = staged(tmp_path, SAVEPOINT, since=(since,))
    before = tree_hash(tmp_path)

    if not fresh:
        assert Path(apply(made.order(), made.receipt, made.tools()).receipt.steps[0].place).is_dir()
        return
    assert dry_run(made.order(approved=False), made.tools()).failed
    with pytest.raises(StalePlanError, match="tx-0-9") as caught:
        apply(made.order(), made.receipt, made.tools())
    assert str(decision) in caught.value.problem
    assert str(decision) in fresh
    assert tree_hash(tmp_path) == before


@with_cases("target", TARGETS)
def test_a_copy_that_lost_its_mark_is_not_the_one_that_was_written(tmp_path: Path, target: Target) -> None:
    made = staged(tmp_path, target)
    receipt = apply(made.order(), made.receipt, made.tools()).receipt
    file = Path(receipt.steps[0].place) / "_metadata"
    data, name = file.read_bytes(), MARK.transactional_id.encode()
    at = data.index(name + bytes(4) + b"\0\0\0\3") + len(name) + 7
    file.write_bytes(data[:at] + b"\0" + data[at + 1 :])

    verified = verify(receipt, LiveReaders(migration=made.migration), verified_at="now")

    assert {each.turnout for each in verified.positions} == {Turnout.DIFFERENT}
    if target == SAVEPOINT:
        seen = flink_savepoint.look(made.plan, receipt.steps[0], context(tmp_path))
        assert seen.standing is StepStanding.CHANGED


def test_a_receipt_that_names_the_unmarked_bytes_does_not_make_a_copy_the_planned_one(tmp_path: Path) -> None:
    plain = stage(tmp_path, SAVEPOINT, sample=SAMPLE)
    step = apply(plain.order(), plain.receipt, plain.tools()).receipt.steps[0]
    planned = replace(plain.plan, marks=(MARK,))

    seen = flink_savepoint.look(planned, step, context(tmp_path))

    assert seen.standing is StepStanding.CHANGED
    assert "is received, and planned as marked committed" in seen.told
