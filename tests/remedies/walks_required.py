"""Remedies of what a plan requires of the cutover, when it is drafted, read and applied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from offsetwise import files, workflow
from offsetwise.apply.run import apply
from offsetwise.bundled import Bundled
from offsetwise.cli import plans
from offsetwise.model import CutoverRequirement, Subject, SubjectKind, Target
from offsetwise.plan import options
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest, check_request
from tests.apply.test_cutover_required import FROZEN, requiring
from tests.cutovers import GROWING, STILL, seen
from tests.plan.scene import COPY, ETL, drafted, grouped, rows
from tests.remedies.walk import Scene, Steps, corrected, walk

REQUEST: Final = "plan/request.py::"
NOTHING: Final = CutoverRequirement(states=(), still_for_ms=60_000)

corrected(
    "plan/options.py::cutover",
    "Name what must hold of the old logs",
    "another_word",
    lambda: options.cutover("drained"),
    lambda: options.cutover("frozen"),
)


def requested(required: CutoverRequirement, *kinds: str) -> Callable[[], object]:
    targets = tuple(Target(kind=kind) for kind in kinds)
    return lambda: check_request(DraftRequest(targets=targets, author="ada", cutover=required))


corrected(
    REQUEST + "_check_cutover",
    "Name frozen, copied or both",
    "nothing_named",
    requested(NOTHING, "spark-checkpoint"),
    requested(FROZEN, "spark-checkpoint"),
)
corrected(
    REQUEST + "_check_cutover",
    "or add the target that the job starts from",
    "only_transactions",
    requested(FROZEN, "sink-transactions"),
    requested(FROZEN, "sink-transactions", "flink-savepoint"),
)
corrected(
    REQUEST + "check_readings",
    "Leave --require out: the job has read nothing",
    "no_position_on_the_old_cluster",
    lambda: drafted(grouped(*rows({"old_offset": None, "restart": ()})), ETL, cutover=FROZEN),
    lambda: drafted(grouped(), ETL, cutover=FROZEN),
)


@walk("workflow/planning.py::_check_cutover", "Leave --require out. Before the plan is applied")
def a_stream_whose_ends_nobody_watches(scene: Scene) -> Steps:  # noqa: ARG001 - as every walk
    migration = workflow.sample(Bundled.KINESIS)
    name = migration.checkpoints[0].name
    subject = Subject(kind=SubjectKind.CHECKPOINT, name=name)
    request = DraftRequest(targets=(COPY,), author="ada", cutover=FROZEN)
    return Steps(
        lambda: workflow.draft(migration, subject, request, drafted_at="2026-11-27T12:00:00Z"),
        lambda: None,
        lambda: workflow.sample_comparison(name, Bundled.KINESIS),
    )


corrected(
    "cli/plans.py::_required",
    "Name the migration file, or leave --require out",
    "require_without_a_migration",
    lambda: plans._required("frozen", None, None),
    lambda: plans._required("frozen", None, Path("migration.yaml")),
)


def with_another_requirement() -> bytes:
    body = json.loads(files.dump(drafted()))
    body["requirements"]["silence"] = {"for_ms": 1}
    return json.dumps(body).encode()


corrected(
    "files/__init__.py::_check_requirements",
    "Use the release of Offsetwise that wrote it: this one would not look",
    "a_requirement_of_a_later_release",
    lambda: read_plan(with_another_requirement(), subject="plan.json") and None,
    lambda: read_plan(files.dump(drafted()).encode(), subject="plan.json") and None,
)


@walk("apply/recheck/__init__.py::require", "Stop every producer of its topics, wait until")
def a_producer_that_goes_on(scene: Scene) -> Steps:
    staged = requiring(scene.folder, FROZEN, seen([GROWING]))
    return Steps(
        lambda: apply(staged.order(), staged.receipt, staged.tools()),
        lambda: staged.world.cutovers.append(seen([STILL])),
    )
