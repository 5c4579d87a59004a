"""A console started on a review bundle reaches no cluster, and shows plan, comparison and snapshots all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st

from offsetwise.console import answers, bundles
from offsetwise.console.answers import Question
from offsetwise.console.bundles import BundleReader, Handed, reader
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.errors import ConfigError, FileError
from offsetwise.model import Cluster
from offsetwise.review.access import Access
from offsetwise.review.people import Person
from offsetwise.store.store import open_store
from tests.console.boards import ADA, RITA, VERA, Stage, stage
from tests.console.conftest import words
from tests.review.test_bundle import packed
from tests.screens import EXPLORE
from tests.with_cases import with_cases

EXPORT = "pages/plan/export.py"
NO_PROGRESS = lambda *_: None  # noqa: E731 - nothing is told of what is there


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A bundle, as another console wrote it."""
    (tmp_path / "home").mkdir()
    with open_store(f"sqlite:///{tmp_path / 'home' / 'store.sqlite'}") as store:
        _, data = packed(stage(store.reviews, tmp_path / "home").scene, ADA)
    path = tmp_path / "<b>plan.review.gz"
    path.write_bytes(data)
    return path


@pytest.fixture
def handed(file: Path) -> Iterator[Handed]:
    (loaded,) = bundles.load([file])
    bundles.use([loaded])
    yield loaded
    bundles.use([])


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Stage]:
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        yield stage(store.reviews, tmp_path)
    access.use(Access())
    st.cache_resource.clear()


def test_its_comparison_and_snapshots_are_answered_from_the_file(handed: Handed) -> None:
    made = reader(())
    assert isinstance(made, BundleReader)
    (offered,) = [one for one in made.offered() if one.name == handed.migration]
    question = Question.of(Reader.comparison, offered.name, offered.subjects[0])
    held = answers.Answers(made).cached(question)
    assert held is not None
    assert handed.bundle.observed is not None
    assert held.value == handed.bundle.observed
    for cluster, snapshot in (
        (Cluster.OLD, handed.bundle.observed.snapshots[0]),
        (Cluster.NEW, handed.bundle.observed.snapshots[1]),
    ):
        assert made.cluster(offered.name, cluster, NO_PROGRESS).snapshot == snapshot


def test_what_it_does_not_hold_is_said_in_words(handed: Handed) -> None:
    made = reader(())
    with pytest.raises(ConfigError, match="a bundle has none"):
        made.fleet(handed.migration, NO_PROGRESS)
    with pytest.raises(ConfigError, match="a bundle has none"):
        made.minimum_acls(handed.migration, Cluster.OLD, NO_PROGRESS)


@with_cases("page", EXPLORE)
def test_every_page_opens_on_it_without_a_cluster(away: Stage, handed: Handed, page: str) -> None:
    opened = away.open(f"pages/explore/{page}.py", RITA, migration=handed.migration)
    assert not opened.exception
    assert "An unexpected error occurred" not in words(opened)
    if page == "compare":
        assert handed.bundle.observed is not None
        assert len(opened.dataframe[0].value) == len(handed.bundle.observed.partitions)


def test_a_reviewer_takes_it_in_and_it_waits_for_a_decision(away: Stage, handed: Handed) -> None:
    page = away.open(EXPORT, RITA)
    assert not page.exception
    assert "\\<b\\>plan" in words(page)
    page.button(key="handed-0").click().run()
    assert not page.exception
    assert "is taken in as plan 1" in page.success[-1].value
    assert [each.digest for each in away.scene.board.waiting_for(RITA)] == [handed.bundle.plan_digest]
    page.button(key="handed-0").click().run()
    assert "was taken in before" in page.info[-1].value


@with_cases("somebody", [None, VERA, ADA], ids=["anonymous", "viewer", "author"])
def test_nobody_else_takes_it_in(away: Stage, handed: Handed, somebody: Person | None) -> None:
    page = away.open(EXPORT, somebody)
    assert not page.exception
    assert f"{handed.bundle.plan_digest[:8]}" in words(page)
    assert not [button for button in page.button if button.key == "handed-0"]
    assert "To receive bundle, you" in words(page)


@with_cases("change", ["cut", "text", "nothing there", "empty"])
def test_a_console_is_not_started_on_a_bundle_that_was_tampered_with(file: Path, change: str) -> None:
    match change:
        case "cut":
            file.write_bytes(file.read_bytes()[:-20])
        case "text":
            file.write_text("not a bundle", encoding="utf-8")
        case "empty":
            file.write_bytes(b"")
        case _:
            file.unlink()
    with pytest.raises(FileError, match="expected a review bundle"):
        bundles.load([file])


def test_one_without_a_comparison_is_offered_for_review_only(handed: Handed) -> None:
    bundles.use([replace(handed, bundle=replace(handed.bundle, observed=None))])
    assert handed.migration not in [one.name for one in reader(()).offered()]
