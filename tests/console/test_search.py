"""The search over pages, jobs, topics, partitions, findings, plans and help."""

from __future__ import annotations

from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st

from offsetwise.console import help, search
from offsetwise.console.answers import Answers, Question
from offsetwise.console.reader import Reader
from offsetwise.console.search import FINDING, HELP, JOB, MOST, PAGE, PARTITION, TOPIC, links, matches, ways
from tests.console import builders
from tests.console.readers import ValueReader
from tests.subjects import checkpoint
from tests.with_cases import with_cases

PAGES = (("Overview", ""), ("Compare", "compare"), ("Lag", "lag"), ("Help", "help"))


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    st.cache_resource.clear()


@pytest.fixture
def here() -> Answers:
    return Answers(ValueReader({"orders": builders.comparison()}))


@with_cases(
    ("words", "kind", "title"),
    [
        ("lag", PAGE, "Lag"),
        ("checkpoint orders", JOB, "checkpoint orders"),
        ("orders", TOPIC, "orders"),
        ("orders-1", PARTITION, "orders-1"),
        ("ORDERS-1 sample", PARTITION, "orders-1"),
        ("loss_inside", FINDING, "LOSS_INSIDE_LOG"),
        ("runbook", HELP, "Runbook"),
    ],
)
def test_the_best_match_stands_first(here: Answers, words: str, kind: str, title: str) -> None:
    found = matches(words, links(PAGES, here))
    assert (found[0]["kind"], found[0]["title"]) == (kind, title)


def test_a_partition_leads_to_its_row_and_its_filter(here: Answers) -> None:
    (found, *_) = matches("orders-1", links(PAGES, here))
    address = urlsplit(found["href"])
    assert address.path == "compare"
    assert parse_qs(address.query) == {
        "migration": ["sample"],
        "of": ["checkpoint orders"],
        "topic": ["orders"],
        "row": ["orders-1"],
    }


def test_without_words_pages_and_jobs_are_offered_and_no_comparison_is_asked_for() -> None:
    reader = ValueReader({"orders": builders.comparison()})
    found = matches("", ways(PAGES, Answers(reader).offered))
    assert [link["title"] for link in found] == [*(title for title, _ in PAGES), "checkpoint orders"]
    assert dict(reader.calls) == {"offered": 1}


def test_what_nothing_has_finds_nothing(here: Answers) -> None:
    assert matches("no such thing", links(PAGES, here)) == []


def test_every_topic_of_help_is_found_and_opened(here: Answers) -> None:
    for title in help.topics():
        found = [link for link in matches(title, links(PAGES, here)) if link["kind"] == HELP]
        assert parse_qs(urlsplit(found[0]["href"]).query)["about"] == [title]


def test_hostile_names_are_marked_and_lead_to_themselves() -> None:
    here = Answers(ValueReader({"orders": builders.comparison(builders.hostile_rows())}))
    found = [link for link in links(PAGES, here) if link["kind"] == PARTITION]
    assert found
    assert not any("\u202e" in link["title"] for link in found)
    assert all(urlsplit(link["href"]).netloc == "" and link["href"].startswith("compare?") for link in found)


def test_ten_thousand_partitions_are_searched_between_two_letters(
    here: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Answers(ValueReader({"orders": builders.comparison(builders.many_rows(10_000))}))
    assert here.cached(Question.of(Reader.comparison, "sample", checkpoint("orders"))) is not None
    matches("topic", links(PAGES, here))  # what is derived is kept from now on
    made = Mock(wraps=search._link)
    monkeypatch.setattr(search, "_link", made)
    found = matches("topic-007-3", links(PAGES, here))
    assert made.call_count < 1_000, "no link of a partition is made again"
    assert found[0]["title"].startswith("topic-007-3")
    assert 1 < len(found) <= MOST
