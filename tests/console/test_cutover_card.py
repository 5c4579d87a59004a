"""The cutover on the Clusters page, run as Streamlit runs it: off until asked for, then live, then over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pandas as pd
from streamlit.testing.v1 import AppTest

from offsetwise.console.reader import Offered
from offsetwise.errors import ClusterUnreachableError, ConfigError
from offsetwise.model import Cutover, Problem
from offsetwise.streams.kinesis.spec import TERMS
from offsetwise.watch.cutovers import WatchedCutover
from tests.console import builders
from tests.console.conftest import OpenPage, figures, words
from tests.console.readers import ValueReader
from tests.cutovers import DRAINING, GROWING, OPEN_TRANSACTION, STILL, seen
from tests.with_cases import with_cases

CLUSTERS: Final = "pages/explore/clusters.py"
LIVE: Final = {"migration": "orders-to-new", "part": "Cutover"}
NOW: Final = datetime.now(UTC)


def watching(newest: Cutover | None, **changes: Any) -> ValueReader:
    """Return a reader whose old logs are being watched."""
    made = ValueReader(live=builders.comparison())
    began = NOW - timedelta(seconds=70)
    state = WatchedCutover(still_for_s=10, started_at=began, newest=newest, looked_at=NOW if newest else None)
    made.watched = replace(state, **changes)
    return made


def rows(page: AppTest) -> pd.DataFrame:
    return next(each.value for each in page.dataframe if "still for" in each.value)


def said(page: AppTest) -> str:
    return words(page).replace("\\", "").replace("**", "")


def test_nothing_is_watched_until_somebody_asks_for_it(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison())
    page = open_page(reader, CLUSTERS, **LIVE)

    assert not page.exception
    assert "Nothing is watched." in said(page)
    assert not [call for call in reader.calls if "cutover" in call]

    page.selectbox(key="cutover-still").select("5 min").run()
    page.button(key="watch-cutover").click().run()

    assert reader.calls["watch the cutover of orders-to-new for 300 s"] == 1
    assert "The first look is under way." in said(page)
    assert "Nothing is watched." not in said(page)
    page.button(key="stop-cutover").click().run()
    assert reader.calls["stop watching the cutover of orders-to-new"] == 1
    assert "Nobody watches any more." in said(page)


@with_cases(
    ("shown", "answer", "counts"),
    [
        (
            seen([STILL, GROWING]),
            "Open. The old cluster is still written to: 1 of 2 partitions grew by 50",
            (1, 0, 1, 0),
        ),
        (seen([DRAINING, DRAINING]), "Draining. The old logs have stood still for 1 s of 10 s.", (0, 2, 0, 0)),
        (seen([STILL, OPEN_TRANSACTION]), "Draining. A transaction is open on the old cluster", (0, 1, 1, 0)),
        (seen([STILL, STILL], copied=[True, False]), "Frozen. The old logs have stood still for 10 s.", (0, 0, 1, 1)),
        (seen([STILL], copied=[True]), "Copied. Every record of 1 partition of the old cluster is on", (0, 0, 0, 1)),
    ],
    ids=["open", "draining", "transaction", "frozen", "copied"],
)
def test_the_state_is_said_with_its_evidence_and_clock(
    open_page: OpenPage, shown: Cutover, answer: str, counts: tuple[int, ...]
) -> None:
    page = open_page(watching(shown), CLUSTERS, **LIVE)

    assert not page.exception
    assert answer in said(page)
    assert [figures(page)[state] for state in ("Open", "Draining", "Frozen", "Copied")] == [*map(str, counts)]
    assert f"{shown.looks_taken} looks, the newest at {NOW:%Y-%m-%d %H:%M:%S} UTC" in said(page)
    assert "Watched since" in said(page)


def test_partitions_furthest_behind_come_first_with_who_still_writes(open_page: OpenPage) -> None:
    shown = seen([STILL, DRAINING, GROWING, [(100, 100), (120, 120)]])
    page = open_page(watching(shown), CLUSTERS, **LIVE)

    table = rows(page)
    assert table["p"].tolist() == [2, 3, 1, 0]
    assert table["state"].tolist() == ["! open", "! open", "▲ draining", "▲ frozen"]
    assert table["producers"].tolist()[0] == "4,001, 7"
    assert table["grew by"].tolist() == [50, 20, 30, 0]
    assert "OLD_LOG_GROWS" in said(page)
    assert "Stop every producer of the topic" in said(page)


def test_what_could_not_be_read_and_why_it_ended_are_said(open_page: OpenPage) -> None:
    problem = Problem(code="TOPIC_MISSING", message="Topic 'x' does not exist.", fix="Correct the topic's name.")
    page = open_page(watching(replace(seen([GROWING]), problems=(problem,))), CLUSTERS, **LIVE)
    assert "Topic 'x' does not exist. Correct the topic's name." in said(page)

    error = ClusterUnreachableError("Cluster 'old': no answer.", fix="Start the broker.")
    page = open_page(watching(seen([GROWING]), running=False, error=error), CLUSTERS, **LIVE)
    assert "Cluster 'old': no answer." in said(page)
    assert "Nobody watches any more." in said(page)
    assert "The old cluster is still written to" in said(page), "what was seen last stays"

    none = ConfigError("Migration 'm': expected topics to watch, found none.", fix="Name one.")
    page = open_page(watching(None, running=False, error=none), CLUSTERS, **LIVE)
    assert "expected topics to watch, found none." in said(page)


def test_a_click_draws_what_was_seen_since(open_page: OpenPage) -> None:
    reader = watching(seen([GROWING]))
    page = open_page(reader, CLUSTERS, **LIVE)
    assert "The old cluster is still written to" in said(page)

    assert reader.watched is not None
    reader.watched = replace(reader.watched, newest=seen([STILL], copied=[True]), running=False)
    page.run()

    assert "Copied. Every record of 1 partition" in said(page)
    assert "Nobody watches any more." in said(page)


def test_a_stream_whose_ends_nobody_can_watch_says_so_in_its_words(open_page: OpenPage) -> None:
    class Streams(ValueReader):
        def offered(self) -> tuple[Offered, ...]:
            return tuple(replace(each, ends_watched=False, terms=TERMS) for each in super().offered())

    page = open_page(Streams(live=builders.comparison()), CLUSTERS, **LIVE)

    assert not page.exception
    assert "Nobody can watch where" in said(page)
    assert "Watch the old logs" not in [button.label for button in page.button]


def test_a_recording_has_no_cutover(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), CLUSTERS, migration="sample")

    assert "Cutover" not in [tab.label for tab in page.tabs]
