"""The Overview page, run as Streamlit runs it."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

from offsetwise.errors import ClusterError, ClusterUnreachableError, FileError, StoreError
from offsetwise.model import Comparison, Subject
from offsetwise.progress import Progress
from offsetwise.review.people import Person
from offsetwise.store.reviews import Reviews
from tests.console import builders
from tests.console.boards import ADA, RITA, VERA, Stage, here
from tests.console.conftest import COMPARE, OpenPage, figures, words
from tests.console.readers import ETL, ValueReader
from tests.with_cases import with_cases

__all__ = ["here"]

OVERVIEW = "pages/explore/overview.py"


def jobs_of(page: AppTest) -> pd.DataFrame:
    """Return the table of a migration's jobs."""
    found: pd.DataFrame = next(each.value for each in page.dataframe if "worst finding" in each.value.columns)
    return found


def test_the_sample_shows_1050_beside_950_and_opens_with_one_click(open_page: OpenPage) -> None:
    page = open_page(ValueReader())
    assert not page.exception
    assert "**1,050** on the old cluster" in words(page)
    assert "**950** on the new one" in words(page)
    assert [button.label for button in page.button] == ["Try the demonstration", "Open the sample"]


def test_what_is_done_on_the_command_line_names_its_command_and_offers_no_button(open_page: OpenPage) -> None:
    page = open_page(ValueReader(live=builders.comparison()))
    for command in ("draft", "sign", "apply"):
        assert f"`offsetwise {command}`" in words(page)
    assert not {"Draft plan", "Approve", "Submit"} & {button.label for button in page.button}


def test_the_path_stands_above_everything_else_and_leads_to_the_page_of_each_step(open_page: OpenPage) -> None:
    page = open_page(ValueReader())
    said = words(page)
    assert said.index("1 · Explore") < said.index("4 · Apply") < said.index("**1,050** on the old cluster")
    links = [link.label for link in page.get("page_link") if isinstance(link, Element)]
    assert links[:4] == ["Open Compare", "Open Draft", "Open Review", "Open Export"]
    assert "You are here" not in said


@pytest.mark.parametrize("live", [None, builders.comparison()], ids=["samples alone", "a migration of one's own"])
def test_samples_are_folded_only_beside_a_migration_of_ones_own(open_page: OpenPage, live: Comparison | None) -> None:
    page = open_page(ValueReader(live=live))
    folded = [one for one in page.expander if "bundled sample migration" in one.label]
    assert len(folded) == (live is not None)
    assert all("**1,050** on the old cluster" in "".join(text.value for text in one.markdown) for one in folded)
    assert "**1,050** on the old cluster" in words(page)


def test_a_live_migration_is_listed_and_not_read(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison())
    page = open_page(reader)
    assert "2 jobs · 2 not compared" in words(page)
    assert jobs_of(page)["compared"].tolist() == ["? not yet", "? not yet"]
    assert figures(page) == {"Checkpoints": "1", "Groups": "1"}
    assert reader.calls["compare"] == reader.calls["checkpoint_reading"] == 0


def test_all_jobs_are_compared_at_once_and_each_shows_its_verdict_or_why_it_has_none(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    reader.unread[ETL] = ClusterError("Group 'orders-etl': expected committed offsets, found none.", fix="Look.")
    page = open_page(reader)
    page.button(key="all-orders-to-new-now").click().run()
    page.run()
    shown = jobs_of(page)
    assert shown["job"].tolist() == ["group orders-etl", "checkpoint orders"], "problems first"
    assert shown["compared"].tolist() == ["! not readable", "✓ compared"]
    assert "expected committed offsets, found none" in shown["worst finding"][0]
    assert shown["changes"].tolist() == ["", "5 of 8"]
    assert figures(page)["Compared"] == "1 of 2"
    assert (reader.calls["compare all"], reader.calls["compare"]) == (1, 0)
    assert page.button(key="all-orders-to-new-again").label == "Compare all again"


def test_what_was_compared_is_counted_with_what_would_go_wrong(open_page: OpenPage) -> None:
    page = open_page(
        ValueReader(live=builders.comparison(migration="orders-to-new")), COMPARE, migration="orders-to-new"
    )
    page.button(key="compare-now").click().run()
    page.switch_page(OVERVIEW).run()
    assert figures(page) == {
        "Checkpoints": "1",
        "Groups": "1",
        "Compared": "1 of 2",
        "Partitions that would go wrong": "5",
        "Skipped if unedited": "≥ 200",
    }


def test_an_empty_sample_is_no_error(open_page: OpenPage) -> None:
    page = open_page(ValueReader({"orders": builders.comparison(())}))
    assert not page.exception
    assert "There is no partition to compare." in words(page)


@with_cases("name", builders.HOSTILE)
def test_a_hostile_name_stays_text(open_page: OpenPage, name: str) -> None:
    page = open_page(ValueReader({name: builders.comparison(builders.hostile_rows())}))
    assert not page.exception
    assert "<img" not in words(page).replace("\\<img", "")


def test_a_reader_that_fails_is_told_in_words(open_page: OpenPage) -> None:
    class Broken(ValueReader):
        def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:  # noqa: ARG002 - the reader's
            raise FileError(f"{subject}: expected a comparison, found nothing.", fix="Record the sample again.")

    page = open_page(Broken())
    assert not page.exception
    assert "Record the sample again" in words(page)
    assert "What to do" in words(page)


def test_a_failed_live_reading_is_visible_from_the_overview(open_page: OpenPage) -> None:
    reader = ValueReader(live=ClusterUnreachableError("Cluster 'new': expected an answer, none came.", fix="Start it."))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    page.switch_page(OVERVIEW).run()
    assert jobs_of(page)["compared"].tolist() == ["! not readable", "? not yet"]


@with_cases(
    ("somebody", "said"),
    [
        (RITA, "● for you"),
        (ADA, "Nothing waits for you."),
        (VERA, "Nothing waits for you."),
        (None, "Sign in to see what waits for you."),
    ],
    ids=["reviewer", "author", "viewer", "anonymous"],
)
def test_a_submitted_plan_waits_for_its_reviewer_and_for_nobody_else(
    here: Stage, somebody: Person | None, said: str
) -> None:
    saved = here.scene.submitted(migration=builders.MARKDOWN)
    page = here.open(OVERVIEW, somebody)
    assert not page.exception
    assert "1 submitted" in words(page)
    assert said in words(page)
    named = f"**Plan {saved.plan}** of a\\|b\\*c\\_d\\[e\\]\\(f\\)"
    assert (named in words(page)) is (somebody is RITA)


def test_without_a_plan_nothing_is_said_of_plans(here: Stage) -> None:
    page = here.open(OVERVIEW, RITA)
    assert not page.exception
    assert "waits for you" not in words(page)


def test_of_many_plans_that_wait_the_first_are_shown_and_the_rest_is_counted(here: Stage) -> None:
    for number in range(23):
        here.scene.submitted(moves=f"orders-{number}")
    page = here.open(OVERVIEW, RITA)
    assert words(page).count("● for you") == 20
    links = [link.label for link in page.get("page_link") if isinstance(link, Element)]
    assert "3 more on Review" in links


def test_a_store_that_cannot_be_used_is_said_and_the_sample_stays(here: Stage) -> None:
    def gone() -> Reviews:
        raise StoreError("The store cannot be opened: it is locked.", fix="Wait, and try again.")

    here.reviews = gone
    page = here.open(OVERVIEW, RITA)
    assert not page.exception
    assert "it is locked" in words(page)
    assert "**950** on the new one" in words(page)
