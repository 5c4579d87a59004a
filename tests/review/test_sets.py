"""Sets of plans under review: one decision about exactly these plans, by somebody who had a hand in none of them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest

from offsetwise.approval import ApprovalFile, Verdict, keygen, write_keys
from offsetwise.approval.envelope import stated_in
from offsetwise.approval.signing_sets import sign_set
from offsetwise.config import TrustedKey
from offsetwise.errors import PlanError
from offsetwise.model import PlannedPosition
from offsetwise.review.answers import AlreadyDecided, Approved, Done, NotAllowed, SavedVersion
from offsetwise.review.exports import Destination
from offsetwise.review.people import Person
from offsetwise.review.sets.answers import DecidedSet, RefusedOf, SubmittedSet, WithdrawnSet
from offsetwise.review.sets.sheet import SetState
from offsetwise.store.audit import AuditFilter
from offsetwise.store.review_rows import State
from tests.approval.signed import PLAN
from tests.review.people import ADA, ANN, BOTH, ISSUER, NOW, RALPH, RITA, ROSE, Scene
from tests.review.sets import REFUSED, approve, drafted_set, reject, set_of, sheet_of, submitted_set
from tests.review.test_concurrency import at_once, kinds
from tests.review.test_overrides import HALF, NOT_MET, REASON
from tests.review.test_roads import moved
from tests.with_cases import with_cases

JOBS = ("orders", "payments", "audit")
UNSAFE: tuple[PlannedPosition, ...] = (replace(PLAN.positions[0], skip=7),)


def states(scene: Scene) -> set[State]:
    return {row.state for row in scene.board.plans(RITA)}


def intact(scene: Scene) -> None:
    assert scene.board.check_chain(RITA).broken is None


def member(scene: Scene, made: SubmittedSet, job: str) -> SavedVersion:
    """Return a plan of a set as it was saved."""
    found = next(each for each in sheet_of(scene, made).members if each.entry.job == f"group {job}")
    return SavedVersion(plan=found.row.id, number=found.row.number, digest=found.newest.digest, dropped=0)


def edit(scene: Scene, made: SubmittedSet, job: str, by: Person = ADA) -> SavedVersion:
    return scene.edited(by, member(scene, made, job), moves=job, drafted_at="2026-03-01T10:00:00Z")


def test_one_signature_approves_every_plan_of_a_set_and_each_has_its_row_of_the_audit_log(anywhere: Scene) -> None:
    scene = anywhere
    made = submitted_set(scene, refused=(REFUSED,))
    assert (made.plans, made.refused, states(scene)) == (3, 1, {State.SUBMITTED})

    answer = approve(scene, RITA, made, remark="Looked at all three.")

    assert isinstance(answer, DecidedSet), answer
    assert answer.complete
    assert states(scene) == {State.APPROVED}
    said = stated_in(ApprovalFile(name="kept", content=answer.envelope))
    assert said.plan_digest == made.digest
    assert said.plans == tuple(each.member.digest for each in sheet_of(scene, made).members)
    rows = scene.board.audit(RITA, AuditFilter(action="approve"))
    assert [row.record.plan for row in rows][1:] == [each.row.id for each in sheet_of(scene, made).members][::-1]
    assert rows[0].record.digest == made.digest
    for each in sheet_of(scene, made).members:
        sheet = scene.board.sheet(RITA, each.row.id)
        assert sheet is not None
        assert [row.envelope for row in sheet.decisions] == [answer.envelope]
        assert [remark.body for remark in sheet.comments] == ["Looked at all three."]
    intact(scene)


def test_a_set_that_was_rejected_rejects_every_plan(scene: Scene) -> None:
    made = submitted_set(scene)
    assert isinstance(reject(scene, RITA, made), DecidedSet)
    assert states(scene) == {State.REJECTED}
    assert sheet_of(scene, made).status.state is SetState.REJECTED
    assert isinstance(approve(scene, RALPH, made), NotAllowed)


def test_two_approvals_of_a_set_are_counted_where_two_are_asked_for(scene: Scene) -> None:
    scene.deciding(required=2)
    made = submitted_set(scene)
    first = approve(scene, RITA, made)
    assert isinstance(first, DecidedSet)
    assert (first.complete, first.counted) == (False, 1)
    again = approve(scene, RITA, made)
    assert isinstance(again, NotAllowed)
    assert "approved every plan of this set already" in again.why

    second = approve(scene, RALPH, made)

    assert isinstance(second, DecidedSet)
    assert second.complete
    assert sheet_of(scene, made).status.state is SetState.APPROVED


def with_an_editor(scene: Scene) -> SubmittedSet:
    """Submit a set, let somebody else edit one plan, and submit the set again."""
    made = submitted_set(scene)
    edited = edit(scene, made, "audit", BOTH)
    scene.edited(ADA, edited, moves="audit", drafted_at="2026-03-01T11:00:00Z")
    again = scene.board.submit_set_again(ADA, made.number, made.digest)
    assert isinstance(again, SubmittedSet), again
    return again


BARRED: dict[str, Callable[[Scene], SubmittedSet]] = {
    "the author of all": lambda scene: submitted_set(scene, BOTH),
    "an editor of one, in an earlier version": with_an_editor,
}


@with_cases("how", BARRED)
def test_who_had_a_hand_in_one_plan_decides_about_none_of_the_set(scene: Scene, how: str) -> None:
    made = BARRED[how](scene)

    answer = approve(scene, BOTH, made)

    assert isinstance(answer, RefusedOf), answer
    assert "had a hand in" in answer.why
    assert states(scene) == {State.SUBMITTED}
    assert scene.board.audit(RITA)[0].record.result == "refused"
    intact(scene)
    assert isinstance(approve(scene, RITA, made), DecidedSet)


def test_who_had_a_hand_in_a_plan_that_was_approved_alone_decides_about_none_of_the_others(scene: Scene) -> None:
    made = with_an_editor(scene)
    assert isinstance(scene.approve(RALPH, member(scene, made, "audit")), Approved)

    answer = approve(scene, BOTH, made)

    assert isinstance(answer, RefusedOf), answer
    assert "had a hand in" in answer.why
    assert isinstance(approve(scene, RITA, made), DecidedSet)


def test_unsafe_rows_of_one_plan_take_the_name_of_the_wave_typed(scene: Scene) -> None:
    contents = [
        ("group orders", scene.drafted(ADA, moves="orders")),
        ("group audit", scene.drafted(ADA, moves="audit", positions=UNSAFE)),
    ]
    made = scene.board.submit_set(ADA, set_of(contents, "pilot"))
    assert isinstance(made, SubmittedSet), made
    assert sheet_of(scene, made).confirm == "pilot"

    answer = approve(scene, RITA, made, typed="orders")

    assert isinstance(answer, NotAllowed)
    assert "expected 'pilot' to be typed" in answer.why
    assert states(scene) == {State.SUBMITTED}
    assert isinstance(approve(scene, RITA, made, typed="pilot"), DecidedSet)


def test_a_set_without_a_wave_takes_the_beginning_of_its_digest_typed(scene: Scene) -> None:
    made = scene.board.submit_set(ADA, set_of([("group a", scene.drafted(ADA, moves="a", positions=UNSAFE))]))
    assert isinstance(made, SubmittedSet), made
    assert sheet_of(scene, made).confirm == made.digest[:8]


def test_a_plan_that_is_edited_or_withdrawn_in_between_ends_the_set_and_the_others_go_on_in_the_next(
    anywhere: Scene,
) -> None:
    scene = anywhere
    made = submitted_set(scene)
    edited = edit(scene, made, "orders")
    withdrawn = member(scene, made, "payments")
    assert isinstance(scene.board.withdraw(ADA, withdrawn.plan), Done)

    answer = approve(scene, RITA, made)

    assert isinstance(answer, NotAllowed)
    assert "was changed since it was submitted" in answer.why
    sheet = sheet_of(scene, made)
    assert sheet.status.state is SetState.CHANGED
    assert set(sheet.status.changed) == {edited.plan, withdrawn.plan}

    again = scene.board.submit_set_again(ADA, made.number, made.digest)

    assert isinstance(again, SubmittedSet), again
    assert (again.plans, again.refused, again.number == made.number) == (2, 1, False)
    (left,) = sheet_of(scene, again).document.refused
    assert (left.job, "is withdrawn" in left.problem) == ("group payments", True)
    assert isinstance(approve(scene, RITA, again), DecidedSet)
    assert isinstance(approve(scene, RITA, made), NotAllowed), "the set of before is decided about no more"
    intact(scene)


def test_nothing_of_a_set_is_kept_where_one_of_its_plans_cannot_be(scene: Scene) -> None:
    open_one = scene.submitted(ANN, moves="payments")

    answer = scene.board.submit_set(ADA, drafted_set(scene))

    assert isinstance(answer, RefusedOf), answer
    assert (answer.job, answer.plan) == ("group payments", open_one.plan)
    assert [row.id for row in scene.board.plans(RITA)] == [open_one.plan]
    assert scene.board.sets(RITA) == ()
    intact(scene)


def test_a_plan_that_was_approved_alone_needs_no_other_approval_of_the_set(scene: Scene) -> None:
    made = submitted_set(scene)
    assert isinstance(scene.approve(RALPH, member(scene, made, "audit")), Approved)
    sheet = sheet_of(scene, made)
    assert (sheet.status.state, sheet.status.alone) == (SetState.SUBMITTED, 1)
    refused = reject(scene, RITA, made)
    assert isinstance(refused, NotAllowed)
    assert "approved alone" in refused.why

    answer = approve(scene, RITA, made)

    assert isinstance(answer, DecidedSet)
    assert answer.plans == 2
    assert sheet_of(scene, made).status.state is SetState.APPROVED


def test_of_two_reviewers_of_a_set_at_the_same_second_one_decides_about_all_of_it(anywhere: Scene) -> None:
    scene = anywhere
    made = submitted_set(scene)

    answers = at_once(lambda: approve(scene, RITA, made), lambda: reject(scene, RALPH, made))

    assert kinds(answers) == {DecidedSet: 1, NotAllowed: 1}
    assert len(states(scene)) == 1
    for each in sheet_of(scene, made).members:
        sheet = scene.board.sheet(RITA, each.row.id)
        assert sheet is not None
        assert len(sheet.decisions) == 1
    intact(scene)


def test_an_approval_of_a_set_and_an_edit_of_a_plan_at_the_same_second_never_approve_the_edit(anywhere: Scene) -> None:
    scene = anywhere
    made = submitted_set(scene)
    saved = member(scene, made, "orders")
    content = scene.drafted(ADA, saved.plan, moves="orders", positions=(moved(951),))

    decided, kept = at_once(
        lambda: approve(scene, RITA, made),
        lambda: scene.board.save_draft(ADA, content, plan=saved.plan, base=saved.digest),
    )

    assert isinstance(kept, SavedVersion)
    sheet = scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert (sheet.row.state, sheet.status.counted) == (State.DRAFT, ())
    assert states(scene) == {State.DRAFT, State.APPROVED if isinstance(decided, DecidedSet) else State.SUBMITTED}
    intact(scene)


def test_a_set_waits_as_one_for_its_reviewer_and_is_told_to_its_author_when_it_is_approved(scene: Scene) -> None:
    made = submitted_set(scene)
    alone = scene.submitted(ANN, moves="elsewhere")
    first, second = scene.board.waiting_for(RITA)
    assert (first.of_set, first.plans, first.digest) == (made.number, 3, made.digest)
    assert (second.of_set, second.plan) == (None, alone.plan)
    assert scene.board.waiting_for(ADA) == ()

    approve(scene, RITA, made)

    assert [each.of_set for each in scene.board.waiting_for(RITA)] == [None]
    (own,) = scene.board.waiting_for(ADA)
    assert (own.of_set, own.why) == (made.number, "approved: export and apply it")


def test_a_set_whose_submission_expired_is_submitted_again_as_the_same_set(scene: Scene) -> None:
    made = submitted_set(scene)
    scene.now = NOW + timedelta(hours=200)
    rita, ada = (replace(who, signed_in_at=scene.now, expires_at=None) for who in (RITA, ADA))
    assert isinstance(approve(scene, rita, made), RefusedOf)

    again = scene.board.submit_set_again(ada, made.number, made.digest)

    assert isinstance(again, SubmittedSet)
    assert (again.number, again.digest) == (made.number, made.digest)
    assert isinstance(approve(scene, rita, again), DecidedSet)


def test_a_set_is_withdrawn_by_its_author_alone(scene: Scene) -> None:
    made = submitted_set(scene)
    assert isinstance(scene.board.withdraw_set(ANN, made.number, made.digest), RefusedOf)
    assert states(scene) == {State.SUBMITTED}

    answer = scene.board.withdraw_set(ADA, made.number, made.digest)

    assert answer == WithdrawnSet(number=made.number, plans=3)
    assert states(scene) == {State.WITHDRAWN}
    assert isinstance(scene.board.submit_set_again(ADA, made.number, made.digest), NotAllowed)


def test_checks_that_are_not_met_take_one_reason_for_all_plans_and_the_typed_name(scene: Scene) -> None:
    contents = [
        ("group orders", scene.drafted(ADA, moves="orders")),
        ("group audit", scene.drafted(ADA, moves="audit", requirements=HALF)),
    ]
    made = scene.board.submit_set(ADA, set_of(contents, "pilot"))
    assert isinstance(made, SubmittedSet), made
    sheet = sheet_of(scene, made)
    audit = member(scene, made, "audit").plan
    assert (sheet.not_met, sheet.confirm) == ({NOT_MET: (audit,)}, "pilot")
    without = approve(scene, RITA, made, typed="pilot")
    assert isinstance(without, RefusedOf)
    assert "no reason was written" in without.why
    assert isinstance(approve(scene, RITA, made, in_spite_of={NOT_MET: REASON}), NotAllowed)

    assert isinstance(approve(scene, RITA, made, typed="pilot", in_spite_of={NOT_MET: REASON}), DecidedSet)

    rows = scene.board.audit(RITA, AuditFilter(action="approve", plan=audit, result="done"))
    assert [row.record.details["in_spite_of"] for row in rows] == [f"{NOT_MET}: {REASON}"]


def test_an_approval_of_a_set_that_was_signed_elsewhere_is_taken_in_for_each_of_its_plans(
    scene: Scene, tmp_path: Path
) -> None:
    drafted = drafted_set(scene)
    made = scene.board.submit_set(ADA, drafted)
    assert isinstance(made, SubmittedSet)
    key = keygen(subject="rose", issuer=ISSUER)
    write_keys(tmp_path / "rose", key)
    scene.deciding(trusted_keys=(TrustedKey(file=str(tmp_path / "rose.pub"), issuer=ISSUER, subject="rose"),))
    envelope = sign_set(drafted.content, [each.content for each in drafted.plans], key, now=NOW)
    file = ApprovalFile(name="set.approval.json", content=envelope)

    for each in sheet_of(scene, made).members:
        answer = scene.board.import_envelope(RITA, each.row.id, file)
        assert isinstance(answer, Approved), answer
        assert isinstance(scene.board.import_envelope(RITA, each.row.id, file), AlreadyDecided)

    assert sheet_of(scene, made).status.state is SetState.APPROVED
    with scene.reviews.reading("Counting") as look:
        kept = look.decisions_of([each.row.id for each in sheet_of(scene, made).members])
    assert {row.envelope for rows in kept.values() for row in rows} == {envelope}
    intact(scene)


def test_only_an_approved_set_is_packed_with_every_plan_and_the_one_approval(scene: Scene) -> None:
    made = submitted_set(scene)
    with pytest.raises(PlanError, match="expected an approved set"):
        scene.board.set_kit(RITA, made.number, Destination())
    answer = approve(scene, ROSE, made)
    assert isinstance(answer, DecidedSet)

    kit = scene.board.set_kit(RITA, made.number, Destination())

    with zipfile.ZipFile(BytesIO(kit.content)) as packed:
        names = packed.namelist()
        assert packed.read("plan-set.approval-1.json") == answer.envelope
    assert names == [
        "README.md",
        "plan-set.json",
        *(f"group-{job}.plan.json" for job in JOBS),
        "plan-set.approval-1.json",
    ]


def test_nobody_decides_about_a_set_by_another_digest_or_one_that_is_not_there(scene: Scene) -> None:
    made = submitted_set(scene)
    other = replace(made, digest="ab" * 32)
    assert isinstance(approve(scene, RITA, other), NotAllowed)
    assert isinstance(approve(scene, RITA, replace(made, number=99)), NotAllowed)
    assert isinstance(scene.board.decide_set(None, made.number, made.digest, Verdict.APPROVED), NotAllowed)
    assert states(scene) == {State.SUBMITTED}
