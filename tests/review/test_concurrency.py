"""Many people at the same second, on both databases: one outcome, one chain, nothing lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from offsetwise.approval import Verdict
from offsetwise.model import PlannedPosition
from offsetwise.review.answers import (
    AlreadyDecided,
    AlreadyOpen,
    Approved,
    Done,
    NotAllowed,
    Rejected,
    SavedVersion,
    Stale,
)
from offsetwise.review.people import Person
from offsetwise.store.audit import AuditFilter
from offsetwise.store.review_rows import State
from tests.review.people import ADA, ANN, RALPH, RITA, ROSE, Scene
from tests.review.test_roads import moved

Made = TypeVar("Made")
THREADS = 20
ROUNDS = 3


def at_once(*doing: Callable[[], Made]) -> list[Made]:
    """Do several things at the same moment."""
    ready = Barrier(len(doing))

    def one(what: Callable[[], Made]) -> Made:
        ready.wait(timeout=60)
        return what()

    with ThreadPoolExecutor(len(doing)) as threads:
        return [each.result(timeout=300) for each in [threads.submit(one, what) for what in doing]]


def kinds(answers: Sequence[object]) -> Counter[type]:
    return Counter(type(each) for each in answers)


def whole(scene: Scene, *, rows: int) -> None:
    chain = scene.board.check_chain(RITA)
    assert chain.broken is None
    assert chain.rows == rows


def test_of_two_reviewers_at_the_same_second_one_decides(anywhere: Scene) -> None:
    scene = anywhere
    for number in range(ROUNDS):
        saved = scene.submitted(moves=f"orders-{number}")

        def says(by: Person, verdict: Verdict, plan: int = saved.plan, digest: str = saved.digest) -> object:
            return scene.board.decide(by, plan, digest, verdict)

        answers = at_once(lambda: says(RITA, Verdict.APPROVED), lambda: says(RALPH, Verdict.REJECTED))

        found = kinds(answers)
        assert found[AlreadyDecided] == 1
        assert found[Approved] + found[Rejected] == 1
        sheet = scene.board.sheet(RITA, saved.plan)
        assert sheet is not None
        assert len(sheet.decisions) == 1
        assert sheet.row.state is (State.APPROVED if found[Approved] else State.REJECTED)
    whole(scene, rows=4 * ROUNDS)


def test_two_of_two_at_the_same_second_are_both_counted(anywhere: Scene) -> None:
    scene = anywhere
    scene.deciding(required=2)
    saved = scene.submitted()

    answers = at_once(*(lambda by=by: scene.approve(by, saved) for by in (RITA, RALPH)))

    assert sorted(each.counted for each in answers) == [1, 2]
    sheet = scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert sheet.status.approved


def test_one_reviewer_in_twenty_windows_decides_once(anywhere: Scene) -> None:
    scene = anywhere
    scene.deciding(required=3)
    saved = scene.submitted()

    answers = at_once(*(lambda: scene.approve(RITA, saved) for _ in range(THREADS)))

    assert kinds(answers) == {Approved: 1, AlreadyDecided: THREADS - 1}
    whole(scene, rows=2 + THREADS)


def test_an_approval_and_an_edit_at_the_same_second_never_approve_the_edit(anywhere: Scene) -> None:
    scene = anywhere
    for number in range(ROUNDS):
        moves = f"orders-{number}"
        saved = scene.submitted(moves=moves)
        edit = scene.drafted(ADA, saved.plan, moves=moves, positions=(moved(951),))

        def save(content: bytes = edit, plan: int = saved.plan, base: str = saved.digest) -> object:
            return scene.board.save_draft(ADA, content, plan=plan, base=base)

        def approve(saved: SavedVersion = saved) -> object:
            return scene.approve(RITA, saved)

        first, second = at_once(approve, save)

        assert isinstance(second, SavedVersion)
        assert isinstance(first, (Approved, Stale))
        assert second.dropped == isinstance(first, Approved)
        sheet = scene.board.sheet(RITA, saved.plan)
        assert sheet is not None
        assert (sheet.row.state, sheet.row.number, sheet.status.counted) == (State.DRAFT, 2, ())
    whole(scene, rows=4 * ROUNDS)


def test_of_twenty_who_draft_for_one_checkpoint_one_has_the_open_plan(anywhere: Scene) -> None:
    scene = anywhere
    drafts = [(by, scene.drafted(by, positions=(place(n),))) for n in range(10) for by in (ADA, ANN)]

    answers = at_once(*(lambda d=d: scene.board.save_draft(*d) for d in drafts))

    assert kinds(answers) == {SavedVersion: 1, AlreadyOpen: THREADS - 1}
    assert len(scene.board.plans(RITA)) == 1
    whole(scene, rows=THREADS)


def place(number: int) -> PlannedPosition:
    return moved(900 + number)


def test_twenty_who_talk_about_twenty_plans_leave_one_chain(anywhere: Scene) -> None:
    scene = anywhere
    saved = [scene.saved(moves=f"orders-{number}") for number in range(THREADS)]

    def talk(number: int) -> list[object]:
        person, plan = (RITA, RALPH, ROSE, ADA)[number % 4], saved[number].plan
        return [scene.board.comment(person, plan, f"remark {each}") for each in range(ROUNDS)]

    answers = [each for some in at_once(*(lambda n=n: talk(n) for n in range(THREADS))) for each in some]

    assert kinds(answers) == {Done: THREADS * ROUNDS}
    whole(scene, rows=THREADS + THREADS * ROUNDS)
    rows = scene.board.audit(RITA, AuditFilter(action="comment"))
    assert len({row.previous for row in rows}) == THREADS * ROUNDS


def test_a_role_that_is_taken_away_while_a_decision_waits_for_its_turn_is_gone(anywhere: Scene) -> None:
    scene = anywhere
    saved = scene.submitted()
    with ThreadPoolExecutor(1) as threads:
        with scene.reviews.changing("Something long") as change:
            waiting = threads.submit(scene.approve, RITA, saved)
            scene.without_role("reviewer", "rita")
            row = change.plan(saved.plan)
            assert row is not None
            change.move(row.id, row.state, number=row.number, at_ms=row.changed_at_ms)
            change.record(scene.board.audit(ADA)[0].record)
        answer = waiting.result(timeout=120)

    assert isinstance(answer, NotAllowed), answer
    assert "need the role reviewer" in answer.why
