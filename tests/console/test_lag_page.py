"""The Lag page, run as Streamlit runs it."""

from __future__ import annotations

import shutil
import sqlite3
from datetime import UTC, datetime
from importlib.resources import files as package_files
from pathlib import Path

import pytest
from pandas.io.formats.style import Styler
from streamlit.testing.v1 import AppTest

from offsetwise.console.explore import lag_tables
from offsetwise.console.widgets import table
from offsetwise.console.widgets.palette import LIGHT
from offsetwise.errors import StoreLockedError, StoreReadOnlyError, StoreUnreachableError
from offsetwise.lag.archive import Recording
from offsetwise.model import GroupPosition, LagPart, LagSample
from offsetwise.store.store import open_store
from offsetwise.watch.background import Sampling
from tests.console import builders
from tests.console.conftest import OpenPage, words
from tests.console.readers import ValueReader
from tests.console.test_tables import displayed
from tests.lag_samples import growing, row, sample
from tests.with_cases import with_cases

LAG = "pages/explore/lag.py"
LIVE = {"migration": "orders-to-new"}


def reader(*samples: LagSample) -> ValueReader:
    made = ValueReader(live=builders.comparison())
    made.samples = Recording(samples)
    return made


def test_old_and_new_stand_side_by_side_and_the_worst_partition_is_shown_over_time(open_page: OpenPage) -> None:
    page = open_page(reader(*growing(20, partitions=3)), LAG, **LIVE)

    assert not page.exception
    assert [(card.label, card.value) for card in page.metric] == [
        ("● Lag on old", "567"),
        ("◆ Lag on new", "567"),
        ("Drift of orders\\-etl", "-606"),
    ]
    assert "orders\\-2 over time" in [each.value for each in page.header]
    assert "lag 190" in words(page)


def test_a_position_past_the_end_is_said_in_red_words_and_never_clamped(open_page: OpenPage) -> None:
    page = open_page(reader(sample(row(new=(0, 850)), row(partition=1))), LAG, **LIVE)

    assert ":red[100 past the end in 1 partition]" in words(page)
    assert "lag :red[100 past the end]" in words(page)
    assert page.dataframe[0].value["lag new"].tolist() == [-100, 150]
    assert "NOT\\_YET\\_MIRRORED" in words(page)


def test_what_is_unknown_is_never_0(open_page: OpenPage) -> None:
    page = open_page(reader(sample(row(new=(None, None), new_position=None))), LAG, **LIVE)

    assert [card.value for card in page.metric][:2] == ["150", ":gray[?]"]
    assert "? in 1 partition" in words(page)
    assert "written: ? \\(not read in the newest sample, or no position\\)" in words(page)


def test_a_cluster_that_is_away_is_named_and_the_other_stays(open_page: OpenPage) -> None:
    away = sample(row(new=(None, None), new_position=None), seconds=30, missing=(LagPart.NEW,))
    page = open_page(reader(sample(), away), LAG, **LIVE)

    assert "**The new cluster could not be read.**" in words(page)
    assert page.metric[0].value == "150"
    assert not page.exception


def test_the_time_lag_names_its_method(open_page: OpenPage) -> None:
    young = open_page(reader(*growing(40)), LAG, **LIVE)
    assert "interpolated between two samples" in words(young)

    old = open_page(reader(*growing(3)), LAG, **LIVE)
    assert "more than 1 min ago \\(older than our samples\\)" in words(old)


def test_the_drift_of_a_group_has_its_sign_in_the_tables_as_everywhere() -> None:
    ahead, behind = row(groups=(GroupPosition(old=1090, new=990),)), row(partition=1)
    shown = sample(ahead, behind)
    printed = table.prepared(lag_tables.partitions(shown, shown), shown.partitions, LIGHT)
    assert isinstance(printed.styled, Styler)
    cells = {*displayed(printed.styled).to_numpy().flat}
    assert {"+40", "-50"} <= cells


def test_a_group_that_moved_is_a_finding_with_its_remedy(open_page: OpenPage) -> None:
    moved = row(groups=(GroupPosition(old=1090, new=990),))
    page = open_page(reader(sample(), sample(moved, seconds=30)), LAG, **LIVE)

    assert "GROUP\\_DRIFT" in words(page)
    assert "moved forward from 1,000 to 1,090 within 30 s, 40 offsets ahead of the checkpoint" in words(page).replace(
        "\\", ""
    )
    assert "Stop the group's members" in words(page).replace("\\", "")


def test_without_a_sample_the_command_to_run_is_given(open_page: OpenPage) -> None:
    page = open_page(reader(), LAG, **LIVE)

    assert "No sample was taken yet." in words(page)
    assert "offsetwise watch --migration migration.yaml --checkpoint 'orders' --every 30" in words(page)


def test_a_recording_without_samples_offers_no_sampling(open_page: OpenPage) -> None:
    page = open_page(reader(), LAG, migration="sample", of="checkpoint orders")

    assert "This recording has no samples." in words(page)
    assert "Start sampling" not in words(page)
    assert "recorded from" not in words(page)


@with_cases("error", [StoreLockedError, StoreReadOnlyError, StoreUnreachableError])
def test_a_store_that_cannot_be_used_is_said_and_the_page_stays_whole(
    open_page: OpenPage, error: type[StoreLockedError]
) -> None:
    broken = reader()
    broken.samples = error("Store sqlite:///x: it is in use.", fix="Let the other process finish.")
    page = open_page(broken, LAG, **LIVE)

    assert "it is in use" in words(page)
    assert "Let the other process finish" in words(page)
    assert "start-sampling" in [button.key for button in page.button]

    broken.samples = Recording(growing(3))
    page.button(key="lag-button").click().run()
    assert page.metric[0].value == "154"


def test_what_was_read_stays_when_the_store_fails_later(open_page: OpenPage) -> None:
    made = reader(*growing(3))
    page = open_page(made, LAG, **LIVE)
    made.samples = StoreUnreachableError("The server is gone.", fix="Start it.")

    page.button(key="lag-again").click().run()

    assert "The server is gone" in words(page)
    assert page.metric[0].value == "154"


def test_a_rerun_reads_nothing(open_page: OpenPage) -> None:
    made = reader(*growing(20, partitions=3))
    page = open_page(made, LAG, **LIVE)
    before = dict(made.calls)
    assert before["lag"] == before["lag of partition"] == 1

    page.run()
    page.selectbox(key="lag-order").select("By name").run()
    page.multiselect(key="lag-topic").select("orders").run()
    assert dict(made.calls) == before | {"lag of partition": made.calls["lag of partition"]}
    assert made.calls["lag of partition"] <= 2

    chosen = made.calls["lag of partition"]
    page.selectbox(key="lag-row").select("orders-1").run()
    page.selectbox(key="lag-row").select("orders-0").run()
    page.selectbox(key="lag-row").select("orders-1").run()
    assert made.calls["lag"] == 1
    assert made.calls["lag of partition"] <= chosen + 2


def test_refreshing_asks_again_only_when_it_is_due(open_page: OpenPage) -> None:
    made = reader(*growing(3))
    page = open_page(made, LAG, **LIVE, refresh="60 s")
    page.run()

    assert page.selectbox(key="refresh").value == "60 s"
    assert made.calls["lag"] == 1


def test_a_link_opens_the_partition_and_the_window_it_names(open_page: OpenPage) -> None:
    link = {"of": "checkpoint orders", "window": "6 h", "lag-row": "orders-1"}
    page = open_page(reader(*growing(3, partitions=3)), LAG, **LIVE, **link)

    assert "orders\\-1 over time" in [each.value for each in page.header]
    assert page.selectbox(key="window").value == "6 h"


def test_a_link_never_starts_a_sampler_and_unknown_values_break_nothing(open_page: OpenPage) -> None:
    made = reader(*growing(3))
    link = {"window": "=cmd()", "refresh": "soon", "lag-row": "<img>", "start-sampling": "true", "lag-topic": "nope"}
    page = open_page(made, LAG, **LIVE, **link)
    page.run()

    assert not page.exception
    assert page.metric[0].value == "154"
    assert not [call for call in made.calls if "sampling" in call]


def test_people_start_and_stop_the_sampler_and_see_what_it_does(open_page: OpenPage) -> None:
    made = reader()
    page = open_page(made, LAG, **LIVE)
    page.selectbox(key="sample-every").select("10 s").run()
    page.button(key="start-sampling").click().run()
    assert made.calls["start sampling orders-to-new every 10 s"] == 1

    made.sampler = Sampling(
        every_s=10, started_at=datetime(2026, 1, 2, 12, tzinfo=UTC), sampled=3, last_at_ms=1_767_355_230_000
    )
    page.run()
    assert "samples every 10 s, since 12:00:00 UTC: 3 moments sampled, the last one at 12:00:30 UTC" in words(page)
    page.button(key="stop-sampling").click().run()
    assert made.calls["stop sampling orders-to-new"] == 1


def test_samples_that_are_not_kept_are_said(open_page: OpenPage) -> None:
    made = reader()
    made.sampler = Sampling(
        every_s=10, started_at=datetime(2026, 1, 2, 12, tzinfo=UTC), sampled=3, not_kept="The disk is full. Make room."
    )
    page = open_page(made, LAG, **LIVE)

    assert "**Samples are taken, but not kept.**" in words(page)
    assert "The disk is full" in words(page)


def test_hostile_names_are_escaped(open_page: OpenPage) -> None:
    rows = [row(name, position=1050 + index) for index, name in enumerate(builders.HOSTILE)]
    page = open_page(reader(sample(*rows, groups=(builders.HTML,))), LAG, **LIVE)

    assert not page.exception
    for text in words(page), *(each.value for each in page.header):
        assert builders.HTML not in text
        assert "\u202e" not in text
    assert "'=cmd()" in page.dataframe[0].value["topic"].tolist()


def test_ten_thousand_partitions_are_shown_in_pages(open_page: OpenPage) -> None:
    rows = [row(f"topic-{number // 500:02d}", number % 500) for number in range(10_000)]
    page = open_page(reader(sample(*rows)), LAG, **LIVE)

    assert len(page.dataframe[0].value) == 250
    assert page.metric[0].value == "1,500,000"


def test_the_recorded_lag_of_the_sample_opens_without_a_store(open_page: OpenPage) -> None:
    from offsetwise.console.reader import Reader  # noqa: PLC0415 - imports Spark and Kafka

    page = open_page(Reader(()), LAG)

    assert not page.exception
    assert "This lag was recorded from two real clusters" in words(page)
    assert "MIRROR\\_STALLED" in words(page)
    assert "GROUP\\_DRIFT" in words(page)
    assert [button.key for button in page.button] == ["play-start", "about-page"]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A store with five moments of two partitions, beside a migration file of the sample's."""
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        for each in growing(5, partitions=2):
            store.add(each)
    bundled = Path(str(package_files("offsetwise") / "sample" / "migration.yaml"))
    shutil.copy(bundled, tmp_path / "migration.yaml")
    return tmp_path / "store.sqlite"


def opened(open_page: OpenPage, store: Path) -> AppTest:
    from offsetwise.console.reader import Reader  # noqa: PLC0415 - imports Spark and Kafka

    return open_page(Reader((store.parent / "migration.yaml",)), LAG, **LIVE)


def test_the_page_shows_what_the_command_kept_in_the_store(
    open_page: OpenPage, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFSETWISE_STORE", f"sqlite:///{kept}")

    page = opened(open_page, kept)

    assert not page.exception
    assert [card.value for card in page.metric][:2] == ["317", "317"]
    assert "kept in sqlite" in words(page)
    assert "The next sample is overdue" in words(page)
    assert page.dataframe[0].value["p"].tolist() == [1, 0]


def test_a_store_that_another_process_writes_to_is_shown(
    open_page: OpenPage, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFSETWISE_STORE", f"sqlite:///{kept}")
    holder = sqlite3.connect(kept, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        page = opened(open_page, kept)
    finally:
        holder.close()

    assert not page.exception
    assert [card.value for card in page.metric][:2] == ["317", "317"]


def test_a_store_that_can_only_be_read_is_shown(
    open_page: OpenPage, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFSETWISE_STORE", f"sqlite:///file:{kept}?mode=ro&uri=true")

    page = opened(open_page, kept)

    assert not page.exception
    assert [card.value for card in page.metric][:2] == ["317", "317"]


def test_a_file_that_is_no_store_is_said_and_the_page_stays_whole(
    open_page: OpenPage, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFSETWISE_STORE", f"sqlite:///{kept}")
    kept.write_text("not a database, but long enough to be read as one" * 40)

    page = opened(open_page, kept)

    assert not page.exception
    assert "What to do" in words(page)
    assert "start-sampling" in [button.key for button in page.button]
