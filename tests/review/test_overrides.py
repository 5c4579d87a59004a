"""A plan with a check that is not met is approved only with a written reason, which the audit log keeps."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from offsetwise.approval import Verdict
from offsetwise.model import TopicRequirement
from offsetwise.review.answers import Approved, NotAllowed
from offsetwise.review.risk import VersionFacts
from tests.approval.signed import PLAN
from tests.review.people import ADA, RITA, Scene
from tests.with_cases import with_cases

HALF = replace(
    PLAN.requirements,
    new=replace(PLAN.requirements.new, topics=(TopicRequirement(name="orders", id=None, partitions=2),)),
)
NOT_MET = "every partition has an offset"
REASON = "orders-1 is of another job"


@with_cases(
    ("reasons", "why"),
    [
        ({}, "no reason was written"),
        ({NOT_MET: "   "}, "no reason was written"),
        ({"job stopped": REASON}, "no reason was written"),
        ({NOT_MET: "a\u202eb"}, "expected one line"),
        ({NOT_MET: "x" * 100_000}, "expected one line"),
    ],
    ids=["none", "blank", "of another check", "hidden", "long"],
)
def test_without_a_reason_that_can_be_read_nothing_is_decided(scene: Scene, reasons: dict[str, str], why: str) -> None:
    saved = scene.submitted(requirements=HALF)
    answer = scene.approve(RITA, saved, in_spite_of=reasons)
    assert isinstance(answer, NotAllowed)
    assert why in answer.why
    sheet = scene.board.sheet(ADA, saved.plan)
    assert sheet is not None
    assert not sheet.decisions


@with_cases("release", ["of this release", "of an earlier one"])
def test_the_reason_is_kept_in_the_row_of_the_approval_whichever_release_kept_the_plan(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    if release == "of an earlier one":
        dump = VersionFacts.dump
        monkeypatch.setattr(
            VersionFacts,
            "dump",
            lambda facts: json.dumps({k: v for k, v in json.loads(dump(facts)).items() if k != "unmet"}),
        )
    saved = scene.submitted(requirements=HALF)
    assert isinstance(scene.approve(RITA, saved), NotAllowed)
    assert isinstance(scene.approve(RITA, saved, in_spite_of={NOT_MET: f" {REASON} ", "other": "not kept"}), Approved)
    newest = scene.board.audit(ADA)[0].record
    assert (newest.action, newest.result) == ("approve", "done")
    assert newest.details["in_spite_of"] == f"{NOT_MET}: {REASON}"
    assert scene.board.check_chain(ADA).intact
    sheet = scene.board.sheet(ADA, saved.plan)
    assert sheet is not None
    (overridden,) = sheet.overridden
    assert (overridden.subject, overridden.digest, overridden.lines) == (
        "rita",
        saved.digest,
        (f"{NOT_MET}: {REASON}",),
    )


def test_a_rejection_needs_no_reason_of_that_kind(scene: Scene) -> None:
    saved = scene.submitted(requirements=HALF)
    scene.board.decide(RITA, saved.plan, saved.digest, Verdict.REJECTED)
    assert "in_spite_of" not in scene.board.audit(ADA)[0].record.details
