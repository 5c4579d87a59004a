"""Remedies of the review: the person, the sign-in or the version that is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from offsetwise import files
from offsetwise.approval import Verdict
from offsetwise.model import TopicRequirement
from offsetwise.review.access import Decisions
from offsetwise.review.answers import SavedVersion
from offsetwise.review.auditing import audited, noted
from offsetwise.review.bundle import open_bundle
from offsetwise.review.exports import Destination
from offsetwise.review.people import Person
from offsetwise.store.store import open_store
from tests.approval.signed import PLAN
from tests.remedies.walk import Scene, Steps, walk
from tests.review import people
from tests.review.people import ADA, ANN, BOTH, NOW, RITA, ROBOT, VERA, person

Given = tuple[Callable[[], object], Callable[[], object]]


def row(scope: str, words: str, given: Callable[[people.Scene], Given]) -> None:
    """Add a walk on a board: what is refused, and what the remedy says to do in its place."""

    @walk(f"review/{scope}", words, name=given.__name__)
    def _(scene: Scene) -> Steps:
        store = open_store(f"sqlite:///{scene.folder / 'store.sqlite'}", wait_s=60)
        command, instead = given(people.Scene(store.reviews, people.access_with_key(scene.folder)))
        return Steps(command, lambda: None, instead)


def on_board(scope: str, words: str) -> Callable[[Callable[[people.Scene], Given]], None]:
    return lambda given: row(scope, words, given)


HALF = replace(
    PLAN.requirements,
    new=replace(PLAN.requirements.new, topics=(TopicRequirement(name="orders", id=None, partitions=2),)),
)
NOT_MET = "every partition has an offset"
ALLOWING = "allowing.py::why_not"


@on_board("allowing.py::not_signed_in", "where no provider is set up")
def nobody_signed_in(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.board.decide(None, saved.plan, saved.digest, Verdict.APPROVED), lambda: board.approve(
        RITA, saved
    )


@on_board(ALLOWING, "for another subject")
def subject_that_cannot_be_shown(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.approve(replace(RITA, subject="ri\x00ta"), saved), lambda: board.approve(RITA, saved)


@on_board(ALLOWING, "Use the sample with the people of the demonstration")
def person_of_the_demonstration(board: people.Scene) -> Given:
    saved = board.submitted()
    stranger = person("demo reviewer", issuer="offsetwise:demo")
    return lambda: board.approve(stranger, saved), lambda: board.approve(RITA, saved)


@on_board(ALLOWING, "Ask the operator to name you")
def viewer_approves(board: people.Scene) -> Given:
    saved = board.submitted()

    def named() -> object:
        roles = board.access.roles
        vera = roles.reviewer[0].model_copy(update={"subject": "vera"})
        board.rules(roles=roles.model_copy(update={"reviewer": (*roles.reviewer, vera)}))
        return board.approve(VERA, saved)

    return lambda: board.approve(VERA, saved), named


@on_board("allowing.py::barred_from_deciding", "Let a reviewer decide who neither")
def author_approves(board: people.Scene) -> Given:
    saved = board.submitted(BOTH)
    return lambda: board.approve(BOTH, saved), lambda: board.approve(RITA, saved)


@on_board("allowing.py::why_not_own", "or save a version of your own first")
def stranger_submits(board: people.Scene) -> Given:
    saved = board.saved(ADA)

    def own() -> object:
        version = board.edited(ANN, saved, drafted_at="2026-03-01T10:00:00Z")
        return board.board.submit(ANN, version.plan, version.digest)

    return lambda: board.board.submit(ANN, saved.plan, saved.digest), own


@on_board("allowing.py::no_person", "Let a person decide")
def service_account(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.approve(ROBOT, saved), lambda: board.approve(RITA, saved)


@on_board("allowing.py::_why_not_decide", "Ask its operator for the claim")
def time_of_sign_in_unknown(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.approve(replace(RITA, signed_in_at=None), saved), lambda: board.approve(RITA, saved)


@on_board("attempt.py::", "Choose a plan from the list")
def no_such_plan(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.board.decide(RITA, 99, saved.digest, Verdict.APPROVED), lambda: board.approve(RITA, saved)


@on_board("attempt.py::", "Make one with `offsetwise keygen --console`")
def no_key(board: people.Scene) -> Given:
    saved, decisions = board.submitted(), board.access.decisions
    board.rules(decisions=Decisions())

    def with_key() -> object:
        board.rules(decisions=decisions)
        return board.approve(RITA, saved)

    return lambda: board.approve(RITA, saved), with_key


@on_board("attempt.py::Attempt.stale", "Open the plan again")
def unknown_version(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.board.decide(RITA, saved.plan, "0" * 64, Verdict.APPROVED), lambda: board.approve(RITA, saved)


@on_board("overrides.py::why_not", "Write the reason under")
def no_reason_in_spite_of_a_check(board: people.Scene) -> Given:
    saved = board.submitted(requirements=HALF)
    return lambda: board.approve(RITA, saved), lambda: board.approve(
        RITA, saved, in_spite_of={NOT_MET: "orders-1 is of another job"}
    )


@on_board("overrides.py::why_not", "Write the reason in one line")
def reason_of_two_lines(board: people.Scene) -> Given:
    saved, reason = board.submitted(requirements=HALF), "orders-1 is of another job"
    two = {NOT_MET: f"{reason}\n{reason}"}
    return lambda: board.approve(RITA, saved, in_spite_of=two), lambda: board.approve(
        RITA, saved, in_spite_of={NOT_MET: reason}
    )


@on_board("exports/__init__.py::archive", "Export a plan that enough people approve.")
def archive_of_a_draft(board: people.Scene) -> Given:
    saved = board.submitted()

    def packed() -> object:
        return board.board.kit(ADA, saved.plan, Destination())

    def approved() -> object:
        board.approve(RITA, saved)
        return packed()

    return packed, approved


NOT_NOW = "deciding.py::_why_not_now"


@on_board(NOT_NOW, "Ask its author to submit it.")
def not_submitted(board: people.Scene) -> Given:
    saved = board.saved()

    def submitted() -> object:
        board.board.submit(ADA, saved.plan, saved.digest)
        return board.approve(RITA, saved)

    return lambda: board.approve(RITA, saved), submitted


@on_board(NOT_NOW, "to look at it again and submit it again")
def submission_expired(board: people.Scene) -> Given:
    saved = board.submitted()

    def later(who: Person) -> Person:
        return replace(who, signed_in_at=board.now, expires_at=board.now + timedelta(hours=1))

    def refused() -> object:
        board.now = NOW + timedelta(days=30)
        return board.approve(later(RITA), saved)

    def submitted_again() -> object:
        board.board.submit(later(ADA), saved.plan, saved.digest)
        return board.approve(later(RITA), saved)

    return refused, submitted_again


@on_board(NOT_NOW, "Let another person decide")
def same_person_under_another_name(board: people.Scene) -> Given:
    board.deciding(required=2)
    saved = board.submitted()
    board.approve(RITA, saved)
    twin = person("rita", issuer=people.OTHER_ISSUER)
    return lambda: board.approve(twin, saved), lambda: board.approve(people.RALPH, saved)


@on_board("remarks.py::comment", "Say it in fewer words")
def long_remark(board: people.Scene) -> Given:
    saved = board.submitted()
    return (
        lambda: board.board.comment(RITA, saved.plan, "x" * 20_000),
        lambda: board.board.comment(RITA, saved.plan, "Fewer words."),
    )


NEW = "drafting.py::"


@on_board(NEW + "_wrong_names", "Draft it again here")
def author_of_another_name(board: people.Scene) -> Given:
    foreign = files.dump(replace(PLAN, author="somebody")).encode()
    return lambda: board.board.save_draft(ADA, foreign), lambda: board.board.save_draft(ADA, board.drafted(ADA))


@on_board(NEW + "_why_not_edit", "Open the plan, and edit its newest version")
def edit_of_another_plan(board: people.Scene) -> Given:
    saved = board.saved()
    content = board.drafted(ADA, saved.plan, drafted_at="2026-03-01T10:00:00Z")

    def refused() -> object:
        return board.board.save_draft(ADA, content, plan=saved.plan, base="0" * 64)

    return refused, lambda: board.board.save_draft(ADA, content, plan=saved.plan, base=saved.digest)


def moved(saved: SavedVersion, board: people.Scene, **changes: Any) -> bytes:
    return board.drafted(ADA, saved.plan, **changes)


@on_board(NEW + "_why_not_edit", "Draft a new plan for that")
def edit_that_moves_another_job(board: people.Scene) -> Given:
    saved = board.saved()
    content = moved(saved, board, moves="payments")
    return (
        lambda: board.board.save_draft(ADA, content, plan=saved.plan, base=saved.digest),
        lambda: board.board.save_draft(ADA, board.drafted(ADA, moves="payments")),
    )


VIEW = "view.py::"


@on_board(VIEW + "PlansView.bundle", "Submit it first")
def bundle_of_a_draft(board: people.Scene) -> Given:
    saved = board.saved()

    def submitted() -> object:
        board.board.submit(ADA, saved.plan, saved.digest)
        return board.board.bundle(ADA, saved.plan)

    return lambda: board.board.bundle(ADA, saved.plan), submitted


@on_board(VIEW + "_no_version", "Choose a plan from the list")
def bundle_of_no_plan(board: people.Scene) -> Given:
    saved = board.submitted()
    return lambda: board.board.bundle(ADA, 99), lambda: board.board.bundle(ADA, saved.plan)


@on_board("bundle.py::_unusable", "")
def damaged_bundle(board: people.Scene) -> Given:
    saved = board.submitted()
    content = board.board.bundle(ADA, saved.plan).content
    return (
        lambda: open_bundle(content[:-5], subject="plan.bundle"),
        lambda: open_bundle(content, subject="plan.bundle"),
    )


@on_board(NEW + "save", "Open that plan, or draft a new one")
def same_bytes_again(board: people.Scene) -> Given:
    content = board.drafted(ADA)
    saved = board.board.save_draft(ADA, content)
    assert isinstance(saved, SavedVersion)
    board.board.withdraw(ADA, saved.plan)
    return (
        lambda: board.board.save_draft(ADA, content),
        lambda: board.board.save_draft(ADA, board.drafted(ADA, drafted_at="2026-03-01T11:00:00Z")),
    )


@on_board(NEW + "_why_not_edit", "Draft a new plan.")
def edit_of_what_was_withdrawn(board: people.Scene) -> Given:
    saved = board.saved()
    content = board.drafted(ADA, saved.plan, drafted_at="2026-03-01T11:00:00Z")
    board.board.withdraw(ADA, saved.plan)
    return (
        lambda: board.board.save_draft(ADA, content, plan=saved.plan, base=saved.digest),
        lambda: board.board.save_draft(ADA, board.drafted(ADA, drafted_at="2026-03-01T12:00:00Z")),
    )


@walk("review/auditing.py::noted", "Give it as `offsetwise audit` printed it")
def note_that_is_none(_: Scene) -> Steps:
    return Steps(lambda: noted("5"), lambda: None, lambda: noted(f"5:{'ab' * 32}"))


@walk("review/auditing.py::audited", "Name it by --store or $OFFSETWISE_STORE")
def no_store(scene: Scene) -> Steps:
    path = scene.folder / "store.sqlite"
    open_store(f"sqlite:///{path}").close()
    return Steps(
        lambda: audited(f"sqlite:///{scene.folder}/other.sqlite", None),
        lambda: None,
        lambda: audited(f"sqlite:///{path}", None),
    )
