"""A position whose proof is gone is applied where as many as have to approve accepted exactly that; nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import DryRun, apply, dry_run, require_held
from offsetwise.approval import ApprovalFile, ApprovalPolicy, PrivateKey, keygen, sign
from offsetwise.approval.unproven import accepted
from offsetwise.errors import ApplyError, NotApprovedError, StalePlanError
from offsetwise.model import AcceptedUnproven, Cluster, Outcome, Override, Receipt, TopicPartition
from offsetwise.plan.draft import totals_of
from offsetwise.position import offset_of
from tests.apply.plans import SHIFT
from tests.apply.test_recheck import DRIFT, GONE, UNREADABLE
from tests.apply.worlds import NOW, REVIEWER, TO_GROUP, Stage, stage
from tests.with_cases import with_cases

REASON = "compared by hand"
SECOND = keygen(subject="second@example.net")


def places(staged: Stage) -> list[TopicPartition]:
    return sorted({each.topic_partition for each in staged.plan.positions})


def signed(staged: Stage, of: Collection[TopicPartition], key: PrivateKey = REVIEWER) -> ApprovalFile:
    wanted = accepted(dict.fromkeys(of, REASON))
    subject, issuer = key.public.subject, key.public.issuer
    content = sign(staged.data, key, subject=subject, issuer=issuer, now=NOW, accepted_unproven=wanted)
    return ApprovalFile(name=f"of {subject}", content=content)


def applied(staged: Stage, *approvals: ApprovalFile, required: int = 1) -> Receipt:
    policy = ApprovalPolicy(trusted=(REVIEWER.public, SECOND.public), required=required)
    order = replace(staged.order(), approvals=approvals, policy=policy)
    made = apply(order, staged.receipt, staged.tools())
    assert read_receipt(staged.receipt) == made.receipt
    return made.receipt


def tried(staged: Stage, *approvals: ApprovalFile) -> DryRun:
    return dry_run(replace(staged.order(), approvals=approvals), staged.tools(), staged.receipt)


def one_lost(staged: Stage, number: int = 0) -> TopicPartition:
    """Take the record at one position away on the old cluster."""
    one = staged.plan.positions[number]
    staged.world.missing_records.add((Cluster.OLD, (one.topic_partition, offset_of(one.old_offset or 0))))
    return one.topic_partition


@with_cases("what", GONE)
def test_what_every_reviewer_accepted_is_applied_and_the_receipt_says_so(tmp_path: Path, what: str) -> None:
    staged = stage(tmp_path, TO_GROUP)
    GONE[what](staged)

    receipt = applied(staged, signed(staged, places(staged)))

    (approver,) = receipt.approvers
    assert approver.accepted_unproven == tuple(
        AcceptedUnproven(topic=at.topic, partition=at.partition, reason=REASON) for at in places(staged)
    )
    assert {offset for offset, _ in staged.groups.at().values()} == {p.new_offset for p in staged.plan.positions}


def test_a_dry_run_names_what_is_unproven_and_who_accepted_it(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    lost = one_lost(staged)

    found = tried(staged)
    assert [each.unproven for each in found.failed] == [lost]
    with pytest.raises(StalePlanError, match="PROOF_NOT_REPEATED") as refused:
        require_held(staged.order(), found, staged.receipt)
    assert "--accept-unproven topic:partition --reason TEXT" in refused.value.fix

    found = tried(staged, signed(staged, [lost]))
    assert found.failed == ()
    assert found.changes
    (told,) = (each.told for each in found.held if each.unproven is not None)
    assert f"{REVIEWER.public.subject} accepted it as unproven: {REASON}." in told


@with_cases("number", [0, 1])
def test_only_the_positions_that_were_named_are_let_pass(tmp_path: Path, number: int) -> None:
    staged = stage(tmp_path, TO_GROUP)
    lost = [one_lost(staged, each) for each in (0, 1)]

    with pytest.raises(StalePlanError, match="PROOF_NOT_REPEATED") as refused:
        applied(staged, signed(staged, [lost[number]]))
    assert str(lost[1 - number]) in refused.value.problem
    assert "accepted it as unproven" not in refused.value.problem
    assert staged.groups.commits == []


@with_cases("lost", [0, 1], ids=["none lost", "one lost"])
def test_an_acceptance_of_a_position_that_is_proven_is_refused(tmp_path: Path, lost: int) -> None:
    staged = stage(tmp_path, TO_GROUP)
    gone = [one_lost(staged, each) for each in range(lost)]
    proven = next(at for at in places(staged) if at not in gone)
    approval = signed(staged, [*gone, proven])

    for attempt in (lambda: applied(staged, approval), lambda: tried(staged, approval)):
        with pytest.raises(NotApprovedError, match=f"the proof was made again: {proven}.*Nothing was written"):
            attempt()
    assert staged.groups.commits == []
    if gone:
        assert applied(staged, signed(staged, gone)).approvers[0].accepted_unproven
    else:
        assert applied(staged, signed(staged, [])).approvers[0].accepted_unproven == ()


def _another_record(staged: Stage) -> None:
    one = staged.plan.positions[0]
    staged.world.other_records.add((Cluster.OLD, (one.topic_partition, offset_of(one.old_offset or 0) - 1)))


def _another_record_of_a_proof_that_retention_took_half_of(staged: Stage) -> None:
    one = staged.plan.positions[0]
    staged.world.change_logs(Cluster.OLD, log_start=99_999)
    staged.world.other_records.add((Cluster.NEW, (one.new_topic_partition, offset_of(one.old_offset or 0) + SHIFT)))


DIFFERENT: dict[str, Callable[[Stage], None]] = {
    **{name: change for name, change in DRIFT.items() if name != "a record on the old cluster is another one"},
    "the other record of the proof is another one": _another_record,
    "and on the other cluster": _another_record_of_a_proof_that_retention_took_half_of,
}


@with_cases("what", DIFFERENT)
def test_what_differs_is_refused_whatever_was_accepted(tmp_path: Path, what: str) -> None:
    staged = stage(tmp_path, TO_GROUP)
    for number in range(len(staged.plan.positions)):
        one_lost(staged, number)
    DIFFERENT[what](staged)

    with pytest.raises(StalePlanError, match="expected everything as it was reviewed"):
        applied(staged, signed(staged, places(staged)))


@with_cases("what", [*UNREADABLE, "an old log without a start"])
def test_what_cannot_be_read_is_refused_whatever_was_accepted(tmp_path: Path, what: str) -> None:
    staged = stage(tmp_path, TO_GROUP)
    if what in UNREADABLE:
        UNREADABLE[what](staged)
    else:
        staged.world.change_logs(Cluster.OLD, log_start=None)

    with pytest.raises(ApplyError, match="cannot be read"):
        applied(staged, signed(staged, places(staged)))


def test_where_two_people_have_to_approve_two_have_to_accept(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    lost = one_lost(staged)
    first = signed(staged, [lost])

    with pytest.raises(StalePlanError, match=r"accepted it as unproven: compared by hand\. 2 people have to"):
        applied(staged, first, signed(staged, [], SECOND), required=2)
    receipt = applied(staged, first, signed(staged, [lost], SECOND), required=2)
    assert [len(each.accepted_unproven) for each in receipt.approvers] == [1, 1]


def test_an_approval_that_does_not_count_accepts_nothing(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    lost = one_lost(staged)
    stranger = signed(staged, [lost], keygen(subject="stranger"))

    with pytest.raises(NotApprovedError):
        applied(staged, stranger)
    with pytest.raises(NotApprovedError):
        tried(staged, stranger)
    with pytest.raises(StalePlanError, match="PROOF_NOT_REPEATED"):
        applied(staged, signed(staged, []), stranger)


def test_a_dry_run_of_a_proven_plan_asks_for_no_approval_even_where_one_is_given(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)

    assert tried(staged, signed(staged, [], keygen(subject="stranger"))).failed == ()


def test_a_record_that_is_gone_of_a_position_that_a_person_decided_needs_no_acceptance(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    first, *rest = staged.plan.positions
    own = Override(offset=offset_of(first.new_offset), reason="agreed", by="somebody")
    positions = (replace(first, override=own), *rest)
    staged.plan = replace(staged.plan, positions=positions, totals=totals_of(positions))
    one_lost(staged)

    assert applied(staged, signed(staged, [])).approvers[0].accepted_unproven == ()


def test_what_holds_is_told_of_each_outcome(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)
    lost = one_lost(staged)

    held = {each.unproven: each.outcome for each in tried(staged, signed(staged, [lost])).held}
    assert held == {None: Outcome.PASSED, lost: Outcome.PASSED}
