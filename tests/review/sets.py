"""Sets of plans on a board: many jobs, drafted, submitted and decided about together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offsetwise import files
from offsetwise.approval import Verdict
from offsetwise.model import PlanOfSet, PlanSet, RefusedJob
from offsetwise.model.digest import digest
from offsetwise.plan.reading import read_plan
from offsetwise.review.drafting import DraftedVersion
from offsetwise.review.people import Person
from offsetwise.review.sets.answers import SubmittedSet
from offsetwise.review.sets.drafting import DraftedSet
from offsetwise.review.sets.sheet import SetSheet
from tests.review.people import ADA, RITA, Scene

REFUSED = RefusedJob(
    job="group ghost", error="PlanError", problem="The group has no commit. Nothing was written.", fix="Let it commit."
)


def drafted_set(
    scene: Scene,
    by: Person = ADA,
    jobs: Sequence[str] = ("orders", "payments", "audit"),
    *,
    wave: str | None = "pilot",
    refused: tuple[RefusedJob, ...] = (),
    **changes: Any,
) -> DraftedSet:
    """Draft a plan for each of some groups, and the set of them."""
    contents = [scene.drafted(by, moves=job, **changes) for job in jobs]
    return set_of([(f"group {job}", content) for job, content in zip(jobs, contents, strict=True)], wave, refused)


def set_of(
    plans: Sequence[tuple[str, bytes]], wave: str | None = None, refused: tuple[RefusedJob, ...] = ()
) -> DraftedSet:
    """Return the set of plans by their jobs."""
    versions = tuple(
        DraftedVersion(
            plan=read_plan(content, subject=job), content=content, digest=digest(content), base=None, comparison=None
        )
        for job, content in plans
    )
    document = PlanSet(
        migration=versions[0].plan.migration,
        wave=wave,
        plans=tuple(
            PlanOfSet(job=job, file=f"{job.replace(' ', '-')}.plan.json", digest=version.digest)
            for (job, _), version in zip(plans, versions, strict=True)
        ),
        refused=refused,
    )
    return DraftedSet(document=document, content=files.dump(document).encode(), plans=versions)


def submitted_set(scene: Scene, by: Person = ADA, **how: Any) -> SubmittedSet:
    """Submit a new set."""
    answer = scene.board.submit_set(by, drafted_set(scene, by, **how))
    assert isinstance(answer, SubmittedSet), answer
    return answer


def approve(scene: Scene, by: Person, made: SubmittedSet, **more: Any) -> Any:
    """Approve a set."""
    return scene.board.decide_set(by, made.number, made.digest, Verdict.APPROVED, **more)


def reject(scene: Scene, by: Person, made: SubmittedSet) -> Any:
    """Reject a set."""
    return scene.board.decide_set(by, made.number, made.digest, Verdict.REJECTED, remark="Not tonight.")


def sheet_of(scene: Scene, made: SubmittedSet) -> SetSheet:
    """Return a set as it stands."""
    sheet = scene.board.set_sheet(RITA, made.number)
    assert sheet is not None
    return sheet
