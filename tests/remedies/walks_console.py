"""Remedies on the console's pages: of who decides about a plan, and of what was read or brought in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.console import board, bundles
from offsetwise.console.answers import Answers, Question
from offsetwise.console.board import Seat
from offsetwise.console.plan import export
from offsetwise.console.reader import PlanOf, Reader
from offsetwise.console.server import access, identity
from offsetwise.model import Cluster, Problem
from offsetwise.plan.drift import Drift, DriftKind
from offsetwise.progress import no_progress
from offsetwise.review.answers import SavedVersion
from offsetwise.review.exports import ExportKind
from offsetwise.review.people import Person
from tests.approval.signed import PLAN
from tests.console import builders
from tests.console.boards import ADA, RITA, VERA, Stage, at_work, staged
from tests.console.conftest import settle
from tests.console.readers import ValueReader
from tests.console.test_shell import REQUIRED, claims
from tests.remedies.walk import Scene, Steps, walk
from tests.review import people
from tests.review.test_bundle import packed

REVIEW, EXPORT = "pages/plan/review.py", "pages/plan/export.py"
DECISION = "console/plan/decision.py::"
MOVED = Drift(kind=DriftKind.CHECKPOINT_MOVED, subject="ckpt, last planned batch", reviewed="6", now="7")


def console(scene: Scene) -> Stage:
    """Return a console's board, with people around it."""
    stack = ExitStack()
    scene.request.addfinalizer(stack.close)
    return stack.enter_context(staged(f"sqlite:///{scene.folder / 'store.sqlite'}", scene.folder))


def off(scope: str, page: AppTest) -> tuple[Problem, ...]:
    """Return why a control of the page is off."""
    assert not page.exception
    said = (str(each.value).replace("\\", "") for each in (*page.markdown, *page.info))
    return tuple(Problem(code=scope, message="off", fix=each) for each in said if " off: " in each)


@walk(DECISION + "fields", "to draft it again")
def plan_that_is_stale(scene: Scene) -> Steps:
    here, reader = console(scene), ValueReader()
    here.reader = reader
    reader.drifted = (MOVED,)
    saved = here.scene.submitted(ADA)

    def looked() -> object:
        page = here.open(REVIEW, RITA)
        (look,) = (each for each in page.button if each.label == "Look whether anything changed")
        look.click().run()
        settle(page)
        return off(DECISION + "fields", page.run())

    def drafted_again() -> None:
        newer = here.scene.edited(ADA, saved, drafted_at="2026-03-01T10:00:00Z")
        here.scene.board.submit(ADA, newer.plan, newer.digest)
        reader.drifted = ()

    return Steps(looked, drafted_again)


@walk(DECISION + "_off", "Another person has to approve too.")
def one_approval_of_two(scene: Scene) -> Steps:
    here = console(scene)
    here.scene.deciding(required=2)
    saved = here.scene.submitted(ADA)
    here.scene.approve(RITA, saved)

    def seen_by(somebody: Person) -> Callable[[], object]:
        return lambda: off(DECISION + "_off", here.open(REVIEW, somebody))

    def another() -> None:
        page = here.open(REVIEW, at_work(people.RALPH))
        page.button(key=f"approve-{saved.plan}").click().run()
        assert any("**Approved: version" in each.value for each in page.success)

    return Steps(seen_by(RITA), another)


@walk(DECISION + "_off", "Look at what it changes, and go on with it.")
def version_that_came_meanwhile(scene: Scene) -> Steps:
    here = console(scene)
    saved = here.scene.submitted(ADA)
    page = here.open(REVIEW, RITA)
    newer = here.scene.edited(ADA, saved, drafted_at="2026-03-01T10:00:00Z")
    here.scene.board.submit(ADA, newer.plan, newer.digest)
    return Steps(lambda: off(DECISION + "_off", page.run()), lambda: page.button(key="go-on").click().run())


@walk(DECISION, "Write the reason as a remark")
def rejection_without_a_reason(scene: Scene) -> Steps:
    here = console(scene)
    saved = here.scene.submitted(ADA)
    page = here.open(REVIEW, RITA)

    def rejected() -> object:
        page.button(key=f"reject-{saved.plan}").click().run()
        return page.session_state["review-told"].answer

    return Steps(rejected, lambda: page.text_area(key=f"remark-{saved.plan}").input("It moves the wrong job."))


@walk("console/plan/export.py::_changed", "Reload the page")
def plan_that_changed_under_its_page(scene: Scene) -> Steps:
    here = console(scene)
    saved = here.scene.submitted(ADA)
    pages = [here.scene.board.sheet(VERA, saved.plan)]
    here.scene.edited(ADA, saved, drafted_at="2026-03-01T10:00:00Z")

    def exported() -> object:
        assert pages[-1] is not None
        return export.files_of(Seat(board=here.scene.board, person=VERA), pages[-1], ExportKind.PLAN) and None

    return Steps(exported, lambda: pages.append(here.scene.board.sheet(VERA, saved.plan)))


@walk("console/plan/intake.py::", "Reload the page, then bring the file in again.")
def page_of_another_board(scene: Scene) -> Steps:
    here = console(scene)
    _, bundle = packed(here.scene, ADA)
    page = here.open(EXPORT, RITA)

    def brought_in(page: AppTest) -> object:
        page.button(key="bring-bundle").click().run()
        return page.session_state["bring-bundle-told"].answer

    def meanwhile() -> object:
        page.file_uploader(key="bring-bundle-file").upload("plan.review.gz", bundle).run()
        page.session_state[board.PART] = "reviewer"
        return brought_in(page)

    def again() -> object:
        page = here.open(EXPORT, RITA)
        page.file_uploader(key="bring-bundle-file").upload("plan.review.gz", bundle).run()
        return brought_in(page)

    return Steps(meanwhile, lambda: None, again)


def handed(scene: Scene) -> bytes:
    """Return a bundle of another console."""
    _, content = packed(console(scene).scene, ADA)
    return content


@walk("console/bundles.py::_load", "Give the path of a bundle")
def bundle_that_is_not_there(scene: Scene) -> Steps:
    path = scene.write("plan.review.gz", handed(scene))
    return Steps(lambda: bundles.load([scene.folder / "plan.gz"]), lambda: None, lambda: bundles.load([path]) and None)


@walk("console/bundles.py::_WithoutFile.__missing__", "Look at Compare, Clusters and Review")
def checkpoints_of_a_bundle(scene: Scene) -> Steps:
    (loaded,) = bundles.load([scene.write("plan.review.gz", handed(scene))])
    bundles.use([loaded])
    scene.request.addfinalizer(lambda: bundles.use([]))
    reader = bundles.reader(())
    name = loaded.migration

    def looked() -> None:
        (offered,) = (each for each in reader.offered() if each.name == name)
        assert reader.comparison(name, offered.subjects[0], no_progress).partitions
        for cluster in Cluster:
            assert reader.cluster(name, cluster, no_progress).snapshot.topics

    return Steps(lambda: reader.fleet(name, no_progress) and None, lambda: None, looked)


@walk("console/answers.py::Reading.report", "Start it again.")
def reading_that_was_stopped(_: Scene) -> Steps:
    gate = threading.Event()
    read = Answers(ValueReader(live=builders.comparison(), count_gate=gate))
    question = Question.of(Reader.reconciliation, "orders-to-new", "orders")

    def counted() -> object:
        reading = read.read(question)
        if not gate.is_set():
            read.stop(question)
        return reading.outcome.result(timeout=60) and None

    return Steps(counted, gate.set)


@walk("console/reader.py::Reader._migration_of", "or go on without")
def drift_of_a_migration_that_is_not_here(scene: Scene) -> Steps:
    here = console(scene)
    saved: SavedVersion = here.scene.submitted(ADA)
    of = PlanOf(digest=saved.digest, plan=replace(PLAN, migration="of another console"))
    return Steps(
        lambda: Reader(()).drift(of.plan.migration, of, no_progress) and None,
        lambda: None,
        lambda: here.scene.approve(RITA, saved),
    )


@walk("console/server/identity.py::require_viewer", "Sign in, or ask the operator")
def question_of_nobody(scene: Scene) -> Steps:
    scene.request.addfinalizer(lambda: access.use(access.Access()))
    access.use(REQUIRED)
    said: dict[str, Any] = {"is_logged_in": False}
    scene.patch.setattr(st, "user", SimpleNamespace(to_dict=lambda: said))
    read = Answers(Reader(()), admit=identity.require_viewer)
    question = Question.of(Reader.fleet, read.offered[0].name)
    return Steps(lambda: read.cached(question) and None, lambda: said.update(claims("vera")))
