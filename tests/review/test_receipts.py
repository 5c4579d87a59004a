"""A receipt is kept only if it agrees with the plan as it is kept here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from offsetwise import files
from offsetwise.model import Receipt
from offsetwise.plan.reading import read_plan
from offsetwise.review.answers import Done, NotAllowed, SavedVersion
from offsetwise.review.exports import ExportKind
from offsetwise.store.review_rows import State
from tests.plans import steps_of
from tests.review.people import ADA, RITA, Scene
from tests.with_cases import with_cases

AT = "2026-03-01T12:00:00Z"
CHANGED: dict[str, Callable[[Receipt], Receipt]] = {
    "no step": lambda made: replace(made, steps=()),
    "a step twice": lambda made: replace(made, steps=made.steps * 2),
    "no file": lambda made: replace(made, steps=(replace(made.steps[0], files=()),)),
    "another plan": lambda made: replace(made, plan=replace(made.plan, author="mallory")),
}


def receipt(scene: Scene, saved: SavedVersion) -> Receipt:
    (exported,) = scene.board.export(ADA, saved.plan, ExportKind.PLAN)
    plan = read_plan(exported.content, subject="plan")
    steps = steps_of(plan)
    return Receipt(plan_digest=saved.digest, plan=plan, approvers=(), begun_at=AT, ended_at=AT, steps=steps)


@with_cases("what", CHANGED)
def test_a_receipt_that_does_not_agree_with_the_plan_is_not_kept(scene: Scene, what: str) -> None:
    saved = scene.submitted()
    scene.approve(RITA, saved)
    honest = receipt(scene, saved)

    answer = scene.board.add_receipt(ADA, saved.plan, files.dump(CHANGED[what](honest)).encode())

    assert isinstance(answer, NotAllowed), answer
    sheet = scene.board.sheet(ADA, saved.plan)
    assert sheet is not None
    assert sheet.row.state is State.APPROVED
    assert scene.board.add_receipt(ADA, saved.plan, files.dump(honest).encode()) == Done(
        plan=saved.plan, state=State.APPLIED
    )
