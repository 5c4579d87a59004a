"""Every road to approving one's own work, or what was not looked at, that needs no page: refused, and audited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from offsetwise.approval import Verdict
from offsetwise.config import TrustedKey
from offsetwise.model import Override, PlannedPosition
from offsetwise.review.access import Grant
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import (
    AlreadyDecided,
    AlreadyOpen,
    Approved,
    Done,
    NotAllowed,
    Rejected,
    SavedVersion,
    Stale,
    Submitted,
    Unchanged,
)
from offsetwise.review.exports import ExportKind
from offsetwise.review.people import Person, recorded
from offsetwise.review.sheet import SheetMark
from offsetwise.store.audit import AuditFilter
from offsetwise.store.review_rows import State
from tests.approval.signed import PLAN
from tests.review.people import (
    ADA,
    ANN,
    BOTH,
    ISSUER,
    NOW,
    OTHER_ISSUER,
    RALPH,
    RITA,
    ROBOT,
    ROSE,
    VERA,
    Scene,
    person,
)
from tests.with_cases import with_cases


def state_of(scene: Scene, plan: int) -> State:
    sheet = scene.board.sheet(RITA, plan)
    assert sheet is not None
    return sheet.row.state


def refused(scene: Scene, answer: object, told: str) -> None:
    """Hold an answer against a refusal that changed nothing, and the audit log's row of it."""
    assert isinstance(answer, NotAllowed), answer
    assert told in answer.why
    assert answer.fix
    row = scene.board.audit(RITA)[0]
    assert row.record.result == "refused"
    assert row.record.details["why"] == answer.why
    assert row.record.details["before"] == row.record.details["after"]
    assert row.record.details["separation_of_duties"] is scene.access.separation_of_duties
    assert scene.board.check_chain(RITA).intact


ROADS: dict[str, tuple[Callable[[Scene], Person], str]] = {
    "in person": (lambda _: BOTH, "is its author"),
    "a second session, signed in again": (lambda _: replace(BOTH, signed_in_at=NOW, name="Somebody"), "is its author"),
    "another issuer with the same mail address": (
        lambda _: person("4711", issuer=OTHER_ISSUER, email="BOTH@example.org"),
        "may be its author",
    ),
    "another issuer with the same subject": (
        lambda _: person("both", issuer=OTHER_ISSUER, email=None),
        "may be its author",
    ),
    "the mail address as subject": (
        lambda _: person("both@example.org", issuer=OTHER_ISSUER, email=None),
        "may be its author",
    ),
    "the subject in other letters": (
        lambda _: person("ＢＯＴＨ", issuer=OTHER_ISSUER, email=None),
        "may be its author",
    ),
    "a service account": (lambda _: ROBOT, "service account"),
    "a program, as its provider says": (lambda _: replace(RITA, service_account=True), "service account"),
    "yesterday's session": (
        lambda _: replace(RITA, signed_in_at=NOW - timedelta(days=1)),
        "within the last 60 minutes",
    ),
    "a session of an hour and a second": (
        lambda _: replace(RITA, signed_in_at=NOW - timedelta(seconds=3_601)),
        "within the last 60 minutes",
    ),
    "a session of the future": (lambda _: replace(RITA, signed_in_at=NOW + timedelta(hours=1)), "within the last"),
    "a session of an unknown time": (lambda _: replace(RITA, signed_in_at=None), "not known when"),
    "a token that ended": (lambda _: replace(RITA, expires_at=NOW), "vouched for you until"),
    "a viewer": (lambda _: VERA, "need the role reviewer"),
    "a reviewer's subject at an issuer that is not named": (
        lambda _: person("rita", issuer="https://evil.example.com"),
        "need the role reviewer",
    ),
    "a person of the demonstration": (lambda _: person("demo reviewer", issuer="offsetwise:demo"), "nobody here"),
    "a key as issuer": (lambda _: person("rita", issuer="key:" + "ab" * 32), "nobody here"),
    "a subject that cannot be shown": (lambda _: replace(RITA, subject="ri\x00ta\u202e"), "printable"),
}


@with_cases("road", ROADS)
def test_nobody_approves_by(scene: Scene, road: str) -> None:
    saved = scene.submitted(BOTH)
    who, told = ROADS[road]

    refused(scene, scene.approve(who(scene), saved), told)

    assert state_of(scene, saved.plan) is State.SUBMITTED


def test_nobody_approves_without_being_signed_in(scene: Scene) -> None:
    saved = scene.submitted()
    refused(scene, scene.board.decide(None, saved.plan, saved.digest, Verdict.APPROVED), "signed in")


def test_who_edited_any_version_is_barred_from_all_later_ones(scene: Scene) -> None:
    first = scene.saved(ADA)
    second = scene.edited(BOTH, first, drafted_at="2026-03-01T10:00:00Z")
    third = scene.edited(ADA, second, drafted_at="2026-03-01T11:00:00Z")
    scene.board.submit(ADA, third.plan, third.digest)

    refused(scene, scene.approve(BOTH, third), "is its editor")
    refused(scene, scene.reject(BOTH, third), "is its editor")


def test_who_reviews_and_then_edits_is_an_editor(scene: Scene) -> None:
    saved = scene.submitted()
    assert isinstance(scene.approve(BOTH, saved), Approved)
    edited = scene.edited(BOTH, saved, drafted_at="2026-03-01T10:00:00Z")
    assert edited.dropped == 1
    assert isinstance(scene.board.submit(BOTH, edited.plan, edited.digest), Submitted)

    refused(scene, scene.approve(BOTH, edited), "is its editor")


def test_an_edit_drops_the_approvals_and_the_old_version_is_stale(scene: Scene) -> None:
    saved = scene.submitted()
    assert isinstance(scene.approve(RITA, saved), Approved)
    edited = scene.edited(ADA, saved, positions=(moved(951),))
    assert state_of(scene, saved.plan) is State.DRAFT

    answer = scene.approve(RALPH, saved)

    assert isinstance(answer, Stale)
    assert answer.digest == edited.digest
    assert answer.difference is not None
    (change,) = answer.difference.positions
    assert change.before is not None
    assert change.after is not None
    assert (change.topic, change.before.new_offset, change.after.new_offset) == ("orders", 950, 951)
    assert scene.board.audit(RITA)[0].record.details["newest"] == edited.digest
    assert [each.mark for each in scene.board.export(RITA, saved.plan, ExportKind.PLAN)] == [SheetMark.DRAFT]


def moved(offset: int) -> PlannedPosition:
    first = PLAN.positions[0]
    return replace(first, new_offset=offset, restart=(replace(first.restart[0], new=offset),))


def test_a_version_that_was_not_submitted_is_not_decided_about(scene: Scene) -> None:
    saved = scene.saved()
    refused(scene, scene.approve(RITA, saved), "not submitted")


def test_a_digest_of_another_plan_approves_nothing(scene: Scene) -> None:
    one, other = scene.submitted(), scene.submitted(ANN, moves="payments")
    refused(scene, scene.board.decide(RITA, one.plan, other.digest, Verdict.APPROVED), "no version of plan")
    refused(scene, scene.board.decide(RITA, 99, other.digest, Verdict.APPROVED), "no such plan")


def test_a_role_that_was_taken_away_is_gone_at_once(scene: Scene) -> None:
    saved = scene.submitted()
    assert scene.board.why_not(RITA, Verb.APPROVE, saved.plan) is None

    scene.without_role("reviewer", "rita")

    refused(scene, scene.approve(RITA, saved), "need the role reviewer")
    scene.without_role("author", "ada")
    refused(scene, scene.board.withdraw(ADA, saved.plan), "need the role author")


def test_a_decision_after_the_submission_ended_is_refused_until_it_is_submitted_again(scene: Scene) -> None:
    saved = scene.submitted()
    scene.now = NOW + timedelta(hours=168)
    fresh = replace(RITA, signed_in_at=scene.now, expires_at=None)
    refused(scene, scene.approve(fresh, saved), "expired")

    assert isinstance(scene.board.submit(ADA, saved.plan, saved.digest), Submitted)
    assert isinstance(scene.approve(fresh, saved), Approved)


def test_an_approval_that_expired_counts_no_more(scene: Scene) -> None:
    scene.deciding(required=2, valid_hours=2)
    saved = scene.submitted()
    first = scene.approve(RITA, saved)
    assert isinstance(first, Approved)
    assert not first.complete
    scene.now = NOW + timedelta(hours=2)
    later = replace(RALPH, signed_in_at=scene.now, expires_at=None)
    refused(scene, scene.approve(later, saved), "expired")

    scene.board.submit(ADA, saved.plan, saved.digest)
    answer = scene.approve(later, saved)
    assert isinstance(answer, Approved)
    assert (answer.counted, answer.required) == (1, 2)


def test_an_approved_plan_whose_approvals_expired_is_a_draft_again_for_those_who_export(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    scene.now = NOW + timedelta(hours=168)
    sheet = scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert sheet.status.expired
    assert not sheet.status.approved
    assert isinstance(scene.board.submit(ADA, saved.plan, saved.digest), Submitted)


def test_an_approval_of_somebody_who_is_no_reviewer_any_more_is_withdrawn_and_says_so(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    before = scene.access
    everybody = Grant(issuer=OTHER_ISSUER, anyone=True)
    for access in (
        before.model_copy(update={"roles": before.roles.model_copy(update={"reviewer": (everybody,)})}),
        before.model_copy(update={"roles": before.roles.model_copy(update={"reviewer": ()})}),
        before.model_copy(update={"service_accounts": (Grant(issuer=ISSUER, subject="rita"),)}),
    ):
        scene.access = access
        sheet = scene.board.sheet(ADA, saved.plan)
        assert sheet is not None
        assert (sheet.status.mark, sheet.status.counted) == (SheetMark.DRAFT, ())
        assert "Rita is no longer a reviewer" in sheet.status.why_expired
        (envelope,) = scene.board.export(ADA, saved.plan, ExportKind.APPROVAL)
        assert (envelope.name, envelope.mark) == (
            f"WITHDRAWN-plan-{saved.digest[:8]}.approval-1.json",
            SheetMark.WITHDRAWN,
        )
        (plan,) = scene.board.export(ADA, saved.plan, ExportKind.PLAN)
        assert plan.name.startswith("DRAFT-")

    scene.access = before
    (envelope,) = scene.board.export(ADA, saved.plan, ExportKind.APPROVAL)
    assert (envelope.name, envelope.mark) == (f"plan-{saved.digest[:8]}.approval-1.json", SheetMark.APPROVED)


def test_an_approval_counts_while_a_role_of_a_group_or_a_trusted_key_may_still_be_theirs(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    roles = scene.access.roles
    key = TrustedKey(file="rita.pub", issuer=ISSUER, subject="rita")
    vouches = TrustedKey(file="console.pub", issuer="offsetwise:console", subject="other", vouches_for=(ISSUER,))
    for reviewer, trusted in (
        ((Grant(issuer=ISSUER, group="reviewers"),), ()),
        ((Grant(issuer=ISSUER, anyone=True),), ()),
        ((), (key,)),
        ((), (vouches,)),
    ):
        scene.rules(roles=roles.model_copy(update={"reviewer": reviewer}))
        scene.deciding(trusted_keys=trusted)
        sheet = scene.board.sheet(ADA, saved.plan)
        assert sheet is not None
        assert (sheet.status.mark, sheet.status.withdrawn) == (SheetMark.APPROVED, ())


def test_of_two_approvals_the_one_that_was_withdrawn_is_marked_and_another_takes_its_place(scene: Scene) -> None:
    scene.deciding(required=2)
    saved = scene.submitted()
    scene.approve(RITA, saved)
    scene.without_role("reviewer", "rita")
    assert scene.approve(RALPH, saved).counted == 1
    answer = scene.approve(ROSE, saved)
    assert isinstance(answer, Approved)
    assert answer.complete
    exported = scene.board.export(ADA, saved.plan, ExportKind.APPROVAL)
    assert [each.mark for each in exported] == [SheetMark.APPROVED, SheetMark.APPROVED, SheetMark.WITHDRAWN]
    assert len({each.content for each in exported}) == 3


def test_a_plan_whose_approval_was_withdrawn_is_submitted_again(scene: Scene) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    scene.without_role("reviewer", "rita")
    assert isinstance(scene.board.submit(ADA, saved.plan, saved.digest), Submitted)
    assert isinstance(scene.approve(RALPH, saved), Approved)
    (envelope,) = scene.board.export(ADA, saved.plan, ExportKind.APPROVAL)
    assert envelope.mark is SheetMark.APPROVED


def test_two_of_three_have_to_be_two_people(scene: Scene) -> None:
    scene.deciding(required=2)
    saved = scene.submitted()
    assert isinstance(scene.approve(RITA, saved), Approved)

    again = scene.approve(RITA, saved)
    assert isinstance(again, AlreadyDecided)
    same = person("8899", issuer=OTHER_ISSUER, email="rita@example.org")
    refused(scene, scene.approve(same, saved), "counted already")
    last = scene.approve(ROSE, saved)
    assert isinstance(last, Approved)
    assert last.complete
    late = scene.approve(RALPH, saved)
    assert isinstance(late, AlreadyDecided)
    assert "approved by rita" in late.message


def test_one_no_ends_it_until_a_new_version_answers_it(scene: Scene) -> None:
    scene.deciding(required=2)
    saved = scene.submitted()
    scene.approve(RITA, saved)
    assert isinstance(scene.reject(RALPH, saved), Rejected)
    assert isinstance(scene.approve(ROSE, saved), AlreadyDecided)
    assert isinstance(scene.board.submit(ADA, saved.plan, saved.digest), AlreadyDecided)

    edited = scene.edited(ADA, saved, positions=(moved(951),))
    assert isinstance(scene.board.submit(ADA, edited.plan, edited.digest), Submitted)


def test_what_is_unsafe_or_skips_is_typed(scene: Scene) -> None:
    saved = scene.submitted(positions=(replace(PLAN.positions[0], skip=7),), totals=replace(PLAN.totals, skip=7))
    sheet = scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert sheet.facts.confirm == "orders"
    for typed in (None, "", "Orders", "orders "):
        refused(scene, scene.approve(RITA, saved, typed=typed), "'orders' to be typed")
    assert isinstance(scene.approve(RITA, saved, typed="orders"), Approved)


def test_a_no_needs_no_typing(scene: Scene) -> None:
    saved = scene.submitted(
        positions=(replace(PLAN.positions[0], skip=None),), totals=replace(PLAN.totals, uncounted=1)
    )
    assert isinstance(scene.reject(RITA, saved), Rejected)


def test_a_plan_has_to_record_who_had_a_hand_in_it(scene: Scene) -> None:
    by_other = scene.drafted(ANN)
    refused(scene, scene.board.save_draft(ADA, by_other), "has to record its author")
    saved = scene.saved(ADA)
    without = scene.drafted(ADA, saved.plan, drafted_at="2026-03-01T10:00:00Z")
    answer = scene.board.save_draft(ANN, without, plan=saved.plan, base=saved.digest)
    refused(scene, answer, f"the editors {recorded(ANN)!r}")


def test_an_offset_is_decided_under_ones_own_name(scene: Scene) -> None:
    decided = replace(PLAN.positions[0], override=Override(offset=950, reason="test data", by="somebody"))
    answer = scene.board.save_draft(ADA, scene.drafted(ADA, positions=(decided,)))
    refused(scene, answer, "decided by 'somebody'")


def test_two_authors_who_edit_the_same_version_do_not_overwrite_each_other(scene: Scene) -> None:
    saved = scene.saved(ADA)
    mine = scene.drafted(ADA, saved.plan, positions=(moved(951),))
    theirs = scene.drafted(ANN, saved.plan, positions=(moved(952),))
    first = scene.board.save_draft(ANN, theirs, plan=saved.plan, base=saved.digest)
    assert isinstance(first, SavedVersion)

    answer = scene.board.save_draft(ADA, mine, plan=saved.plan, base=saved.digest)

    assert isinstance(answer, Stale)
    assert answer.digest == first.digest
    assert isinstance(scene.board.save_draft(ANN, theirs, plan=saved.plan, base=saved.digest), Unchanged)


def test_a_second_plan_for_the_same_checkpoint_waits_for_the_first(scene: Scene) -> None:
    saved = scene.saved(ADA)
    answer = scene.board.save_draft(ANN, scene.drafted(ANN))
    assert isinstance(answer, AlreadyOpen)
    assert answer.plan == saved.plan

    assert isinstance(scene.board.withdraw(ADA, saved.plan), Done)
    assert isinstance(scene.board.save_draft(ANN, scene.drafted(ANN)), SavedVersion)
    late = scene.drafted(ADA, saved.plan, positions=(moved(951),))
    refused(scene, scene.board.save_draft(ADA, late, plan=saved.plan, base=saved.digest), "withdrawn")


def test_only_who_had_a_hand_in_a_plan_submits_or_withdraws_it(scene: Scene) -> None:
    saved = scene.saved(ADA)
    refused(scene, scene.board.submit(ANN, saved.plan, saved.digest), "author and editors")
    refused(scene, scene.board.withdraw(ANN, saved.plan), "author and editors")


def test_the_switch_is_the_servers_and_stands_in_every_row(scene: Scene) -> None:
    scene.rules(separation_of_duties=False)
    saved = scene.submitted(BOTH)
    assert isinstance(scene.approve(BOTH, saved), Approved)

    rows = scene.board.audit(RITA)
    assert {row.record.details["separation_of_duties"] for row in rows} == {False}
    sheet = scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert [each.separation for each in sheet.decisions] == [False]


def test_without_a_key_everything_can_be_looked_at_and_nothing_decided(scene: Scene) -> None:
    saved = scene.submitted()
    scene.deciding(key=None)
    refused(scene, scene.approve(RITA, saved), "no key to sign")
    scene.deciding(key="/nowhere/console.key")
    refused(scene, scene.approve(RITA, saved), "expected a private key")
    assert scene.board.sheet(RITA, saved.plan) is not None


def test_a_remark_of_a_megabyte_is_refused_in_words_and_is_not_kept(scene: Scene) -> None:
    saved = scene.saved()
    refused(scene, scene.board.comment(RITA, saved.plan, "x" * 1_000_000), "1 to 10,000 characters")
    refused(scene, scene.board.comment(RITA, saved.plan, " \n "), "1 to 10,000 characters")
    hostile = "<script>alert(1)</script> =HYPERLINK() \u202e \x00 [a](javascript:1)"
    assert isinstance(scene.board.comment(RITA, saved.plan, hostile), Done)
    sheet = scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert [each.body for each in sheet.comments] == [hostile]
    assert not any("xxxx" in str(row.record.details) for row in scene.board.audit(RITA))


def test_what_waits_waits_for_those_who_may(scene: Scene) -> None:
    saved = scene.submitted(BOTH)
    assert [each.plan for each in scene.board.waiting_for(RITA)] == [saved.plan]
    twin = person("4711", issuer=OTHER_ISSUER, email="both@example.org")
    for nobody in (BOTH, VERA, twin, None, ADA):
        assert scene.board.waiting_for(nobody) == ()
    scene.reject(RITA, saved)
    assert scene.board.waiting_for(RITA) == ()
    (mine,) = scene.board.waiting_for(BOTH)
    assert mine.why.startswith("rejected")


def test_refused_attempts_are_found_in_the_audit_log(scene: Scene) -> None:
    saved = scene.submitted(BOTH)
    scene.approve(BOTH, saved)
    scene.approve(RITA, saved)
    rows = scene.board.audit(RITA, AuditFilter(plan=saved.plan))
    assert [(row.record.action, row.record.result) for row in rows] == [
        ("approve", "done"),
        ("approve", "refused"),
        ("submit", "done"),
        ("save", "done"),
    ]
    assert [row.record.subject for row in scene.board.audit(RITA, AuditFilter(result="refused"))] == ["both"]


def test_an_issuer_that_is_named_for_nobody_gets_no_role_by_its_groups(scene: Scene) -> None:
    scene.rules(roles=scene.access.roles.model_copy(update={"reviewer": (Grant(issuer=ISSUER, group="reviewers"),)}))
    saved = scene.submitted()
    outside = person("x", issuer="https://evil.example.com", groups=("reviewers",))
    refused(scene, scene.approve(outside, saved), "need the role reviewer")
    assert isinstance(scene.approve(person("zoe", groups=("reviewers",)), saved), Approved)
