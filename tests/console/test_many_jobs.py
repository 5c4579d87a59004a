"""A migration of many jobs: the whole first, one table, and plans of a wave drafted and submitted as a set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.jobs.model import JobStep, KnownJobs, jobs
from offsetwise.console.jobs.table import page_of
from offsetwise.console.reader import Reader
from offsetwise.errors import ClusterError
from offsetwise.findings import describe
from offsetwise.model import Comparison, Finding, Severity, Subject, SubjectKind
from offsetwise.review.sets.sheet import SetState
from offsetwise.store.review_rows import PlanRow, State
from tests.console.boards import ADA, RITA, Stage, here
from tests.console.conftest import COMPARE, settle, words
from tests.console.readers import ManyReader
from tests.test_drafting_all import Desk, desk
from tests.with_cases import with_cases

__all__ = ["desk", "here"]
OVERVIEW, DRAFT, REVIEW = "pages/explore/overview.py", "pages/plan/draft.py", "pages/plan/review.py"
MIGRATION = "orders-to-new"


def table(page: AppTest) -> pd.DataFrame:
    found: pd.DataFrame = next(each.value for each in page.dataframe if "worst finding" in each.value.columns)
    return found


def row(plan: int, job: str, state: State) -> PlanRow:
    return PlanRow(id=plan, migration=MIGRATION, moves=f"group {job} on old", state=state, number=1, changed_at_ms=plan)


def lines_of(reader: ManyReader, *plans: PlanRow) -> Any:
    here = answers.Answers(reader)
    here.read(Question.of(Reader.comparison, MIGRATION, reader.jobs[0])).outcome.result(timeout=60)
    live = next(one for one in here.offered if one.name == MIGRATION)
    return jobs(here, live, KnownJobs(plans=plans))


def test_a_job_is_as_far_as_its_plan_and_else_as_its_comparison_problems_first() -> None:
    reader = ManyReader(4)
    found = lines_of(reader, row(9, "etl-003", State.REJECTED), row(8, "etl-002", State.SUBMITTED))
    steps = {line.subject.name: line.step for line in found}
    assert steps["etl-003"] is JobStep.REJECTED
    assert steps["etl-002"] is JobStep.SUBMITTED
    assert steps["etl-001"] is JobStep.UNCOMPARED
    assert steps["etl-000"] is JobStep.BLOCKED
    order = [list(JobStep).index(line.step) for line in found]
    assert order == sorted(order)
    assert [page_of(line) for line in found if line.subject.name in ("etl-001", "etl-002")] == [COMPARE, REVIEW]


RECREATED = Finding(
    code="TOPIC_RECREATED",
    severity=Severity.BLOCKS,
    topic="orders",
    partition=None,
    message="It is another one.",
    remedy="Ask.",
)


@with_cases(
    ("more", "step", "worst"),
    [((), JobStep.COMPARED, None), ((RECREATED,), JobStep.BLOCKED, RECREATED)],
    ids=["", "so"],
)
def test_a_job_is_blocked_by_what_translation_does_not_cure(
    more: tuple[Finding, ...], step: JobStep, worst: Finding | None
) -> None:
    st.cache_resource.clear()
    reader = ManyReader(1)
    assert isinstance(reader._live, Comparison)
    about_old = tuple(finding for finding in reader._live.findings if describe(finding.code).unedited)
    assert {finding.code for finding in about_old} == {"CONFUSION", "LOSS_INSIDE_LOG", "LOSS_BEYOND_END"}
    reader.answer_with(replace(reader._live, findings=(*about_old, *more)))
    (found,) = lines_of(reader)
    assert (found.step, found.worst) == (step, worst)


def test_the_open_plan_of_a_job_stands_for_it_though_another_changed_later() -> None:
    found = lines_of(ManyReader(2), row(9, "etl-001", State.WITHDRAWN), row(3, "etl-001", State.DRAFT))
    assert [line.plan.id for line in found if line.plan is not None] == [3]


@pytest.mark.parametrize("page", [OVERVIEW, COMPARE, DRAFT, REVIEW])
def test_a_migration_of_one_job_is_shown_without_a_table_of_jobs(here: Stage, page: str) -> None:
    here.reader = ManyReader(1)
    shown = here.open(page, ADA, migration=MIGRATION)
    assert not shown.exception
    assert not [each for each in shown.dataframe if "worst finding" in each.value.columns]
    assert not [each for each in shown.expander if "1 job" in each.label]


@pytest.mark.parametrize("page", [OVERVIEW, COMPARE, DRAFT, REVIEW])
@pytest.mark.parametrize("count", [2, 200])
def test_of_many_jobs_every_screen_says_first_how_far_all_of_them_came(here: Stage, page: str, count: int) -> None:
    reader = ManyReader(count)
    here.reader = reader
    shown = here.open(page, ADA, migration=MIGRATION)
    assert not shown.exception
    said = words(shown) + "".join(each.label for each in shown.expander)
    assert f"{count} jobs in 2 waves · {count} not compared" in said
    assert "next: wave" in said
    assert len(table(shown)) == count
    assert reader.calls["compare all"] == reader.calls["compare"] == 0, "no screen waits for a broker"


def test_two_hundred_jobs_are_compared_at_once_and_filtered_by_wave_and_state(here: Stage) -> None:
    reader = ManyReader(200)
    here.reader = reader
    page = here.open(OVERVIEW, ADA)
    page.button(key=f"all-{MIGRATION}-now").click().run()
    settle(page)
    page.run()
    shown = table(page)
    assert shown["compared"].tolist()[:20] == ["! not readable"] * 20, "problems first"
    page.multiselect(key=f"{MIGRATION}-state").set_value(["not readable"]).run()
    assert len(table(page)) == 20
    page.multiselect(key=f"{MIGRATION}-wave").set_value(["pilot"]).run()
    assert "No job passes this filter." in words(page)


@pytest.fixture
def live(desk: Desk, here: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The console on the migration file of three jobs, whose clusters are values."""
    desk.add(waves=[{"name": "pilot", "jobs": ["checkpoint:*"]}, {"name": "groups", "jobs": ["group:*"]}])
    monkeypatch.setattr("offsetwise.workflow.comparing_all.compare_each", desk.compare_each)
    here.reader = Reader((desk.file,))
    return here


def drafted(stage: Stage, name: str, somebody: Any = ADA) -> AppTest:
    page = stage.open(DRAFT, somebody, migration=name)
    assert not page.exception
    page.button(key="draft-set-now").click().run()
    settle(page)
    return page.run()


def name_of(stage: Stage) -> str:
    assert stage.reader is not None
    return next(one.name for one in stage.reader.offered() if not one.recorded)


def test_a_wave_is_drafted_and_submitted_as_one_set_which_another_person_approves(live: Stage, desk: Desk) -> None:
    name = name_of(live)
    page = drafted(live, name)
    assert page.selectbox(key="draft-wave").value == "pilot"
    assert desk.readings == 1, "one reading for all jobs of the wave"
    assert page.button(key="submit-set").label == "Submit 2 plans as one set"

    page.button(key="submit-set").click().run()

    assert not page.exception
    assert "Submitted: 2 plans" in words(page).replace("\\", "")
    ((row_, standing),) = live.scene.board.sets(ADA)
    assert (row_.wave, standing.state, len(row_.members)) == ("pilot", SetState.SUBMITTED, 2)
    review = live.open(REVIEW, RITA)
    assert review.button(key=f"approved-set-{row_.id}").label == "Approve 2 plans"
    assert "2 submitted" in "".join(each.label for each in review.expander)
    review = live.open(OVERVIEW, RITA)
    assert f"**Set {row_.id}**" in words(review)


def test_a_job_that_cannot_be_drafted_is_a_row_with_its_reason_and_the_others_go_on(live: Stage, desk: Desk) -> None:
    desk.broken["checkpoint payments"] = ClusterError("payments: expected an answer, found none.", fix="Start it.")
    page = drafted(live, name_of(live))
    shown = next(each.value for each in page.dataframe if "drafted" in each.value.columns)
    assert shown["job"].tolist() == ["checkpoint payments", "checkpoint orders"]
    assert "expected an answer" in shown["why"][0]

    page.button(key="submit-set").click().run()

    ((row_, _),) = live.scene.board.sets(ADA)
    sheet = live.scene.board.set_sheet(ADA, row_.id)
    assert sheet is not None
    assert [refused.job for refused in sheet.document.refused] == ["checkpoint payments"]
    assert len(sheet.members) == 1


def test_what_was_compared_already_is_not_compared_again_and_a_job_with_an_open_plan_is_left_out(
    live: Stage, desk: Desk
) -> None:
    name = name_of(live)
    page = live.open(OVERVIEW, ADA)
    page.button(key=f"all-{name}-now").click().run()
    settle(page)
    assert desk.readings == 1
    drafting = live.open(DRAFT, ADA, migration=name)  # another console process would have compared again
    assert not drafting.exception
    here_ = answers.current()
    here_.read(answers.comparing_all(name)).outcome.result(timeout=60)
    readings = desk.readings
    drafting.run()
    drafting.button(key="draft-set-now").click().run()
    settle(drafting)
    drafting.run()
    assert desk.readings == readings
    drafting.button(key="submit-set").click().run()

    drafting.selectbox(key="draft-wave").set_value("all jobs").run()

    assert drafting.button(key="draft-set-now").label == "Draft 1 job"


def test_what_is_drafted_for_a_set_is_held_as_compared(live: Stage, desk: Desk) -> None:
    assert live.reader is not None
    name = name_of(live)
    drafted(live, name)
    held = answers.current().cached(
        Question.of(Reader.comparison, name, Subject(kind=SubjectKind.CHECKPOINT, name="orders"))
    )
    assert held is not None
    assert live.reader.observed(name, Subject(kind=SubjectKind.CHECKPOINT, name="orders"), held.value) is not None
    assert desk.compared == ["checkpoint orders", "checkpoint payments"]


def test_a_reviewer_is_offered_no_drafting(live: Stage) -> None:
    page = live.open(DRAFT, RITA, migration=name_of(live))
    assert "Drafting is off: somebody with the role author drafts plans." in words(page)
    assert "draft-set-now" not in {each.key for each in page.button}
