"""The Fleet page, run as Streamlit runs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.operate import fleet_files
from offsetwise.console.operate.fleet_names import named
from offsetwise.console.reader import Reader
from offsetwise.errors import SparkError
from offsetwise.fleets import Fleet, RootTrouble, assemble
from offsetwise.model import Problem
from tests.console import builders, fleets
from tests.console.conftest import OpenPage, figures, words
from tests.console.fleets import NOW_MS, FleetReader, checkpoint, failed
from tests.plugins.spark.folders import SAMPLES, orders, write
from tests.plugins.spark.folders import checkpoint as folder_of
from tests.with_cases import with_cases

PAGE = "pages/operate/fleet.py"


def rows_of(page: AppTest) -> pd.DataFrame:
    shown: pd.DataFrame = page.dataframe[0 if len(page.dataframe[0].value.columns) > 6 else 1].value
    return shown


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


class TestSample:
    def test_its_folders_are_read_at_once_and_the_pending_batch_is_told(self, open_page: OpenPage) -> None:
        page = open_page(Reader(()), PAGE)
        assert not page.exception
        assert page.warning[0].value.startswith("**1 of 2 checkpoints would run a batch again.**")
        table = rows_of(page)
        assert table["verdict"].tolist() == ["◇ pending batch", "✓ restartable"]
        assert table["checkpoint"].tolist() == ["orders", "payments"]
        assert table["planned"].tolist()[0] == table["committed"].tolist()[0] + 1
        assert "Batch 7 is planned and not committed" in said(page)
        assert "[PENDING_BATCH](help?code=PENDING_BATCH)" in said(page)

    def test_positions_stand_by_topic_and_partition_and_times_are_written_as_in_the_head(
        self, open_page: OpenPage
    ) -> None:
        page = open_page(Reader(()), PAGE)
        positions = next(each.value for each in page.dataframe if "next record" in each.value)
        named = list(zip(positions["topic"], positions["p"], strict=True))
        assert len(named) == 8
        assert named == sorted(named)
        assert "from 2026-11-21 12:58:25 UTC" in said(page)
        assert "planned at 2026-11-21 12:58:20 UTC" in said(page)

    def test_a_row_that_the_migration_names_leads_to_its_page(self, open_page: OpenPage) -> None:
        page = open_page(Reader(()), PAGE)
        link: Any = page.get("page_link")[0].proto
        assert link.label == "Open orders"
        assert link.page == "checkpoint"
        assert "of=checkpoint+orders" in link.query_string


class TestAThousand:
    def test_the_sick_ones_stand_first(self, open_page: OpenPage) -> None:
        page = open_page(FleetReader(fleets.a_thousand()), PAGE)
        assert not page.exception
        assert page.error[0].value.startswith("**10 of 1,000 checkpoints cannot be relied on.**")
        assert figures(page) == {
            "Checkpoints": "1,000",
            "Unreadable": "3",
            "Blocked": "7",
            "Pending batch": "40",
            "Restartable": "950",
            "Warned": "0",
            "Copies": "4",
        }
        table = rows_of(page)
        assert len(table) == 250
        assert table["verdict"].tolist()[:10] == ["? unreadable"] * 3 + ["! problems"] * 7
        assert table["copies"].tolist()[50:55] == ["▲ 4 alike"] * 4 + [""]

    def test_they_come_in_pages(self, open_page: OpenPage) -> None:
        page = open_page(FleetReader(fleets.a_thousand()), PAGE, order="by path", rows="751–1000")
        assert rows_of(page)["checkpoint"].tolist()[-1] == "team-9/job-999"
        assert len(rows_of(page)) == 250

    def test_filters_come_from_the_url(self, open_page: OpenPage) -> None:
        filters: dict[str, str | list[str]] = {
            "verdict": ["pending batch", "problems"],
            "problem": ["PENDING_BATCH"],
            "topic": ["orders"],
            "older": "1 hour",
            "text": "TEAM-1/",
            "order": "by path",
        }
        page = open_page(FleetReader(fleets.a_thousand()), PAGE, **filters)
        assert not page.exception
        assert rows_of(page)["checkpoint"].tolist() == [f"team-1/job-0{number}1" for number in range(1, 5)]

    def test_nothing_is_read_again_by_looking(self, open_page: OpenPage) -> None:
        reader = FleetReader(fleets.a_thousand())
        page = open_page(reader, PAGE)
        before = dict(reader.calls)
        page.multiselect(key="verdict").select("pending batch").run()
        page.selectbox(key="order").select("largest state").run()
        page.selectbox(key="row").select("team-7/job-017").run()
        page.text_input(key="text").set_value("job-01").run()
        assert page.header[-1].value == "Facts · team\\-7/job\\-017".replace("/", "\\/")
        assert dict(reader.calls) == before == {"offered": 1, "fleet of sample": 1}

    def test_the_map_has_its_numbers_beside_it_and_says_them(self, open_page: OpenPage) -> None:
        page = open_page(FleetReader(fleets.a_thousand()), PAGE)
        assert page.header[0].value == "How long without a batch"
        data = page.dataframe[0].value
        assert data["? unreadable"].tolist() == [0, 0, 0, 0, 0, 0, 3]
        assert int(data.drop(columns="no batch for").sum().sum()) == 1_000

    def test_a_link_opens_the_row_it_names(self, open_page: OpenPage) -> None:
        page = open_page(FleetReader(fleets.a_thousand()), PAGE, row="team-3/job-003")
        assert page.header[-1].value.replace("\\", "") == "Facts · team-3/job-003"
        assert "Restore it from a copy." in said(page)
        assert "The migration file does not name it." in said(page)


def test_copies_are_told_with_what_they_endanger(open_page: OpenPage) -> None:
    page = open_page(FleetReader(fleets.a_thousand()), PAGE, row="team-0/job-050")
    assert "team-1/job-051**, **team-2/job-052**, **team-3/job-053** carry the same query id" in said(page)
    assert "start a job from one of them only" in said(page)


def test_a_failed_checkpoint_is_a_row_with_its_remedy(open_page: OpenPage) -> None:
    page = open_page(FleetReader(assemble([checkpoint(), failed("/data/table")], {})), PAGE)
    assert rows_of(page)["verdict"].tolist() == ["? unreadable", "✓ restartable"]
    assert rows_of(page)["age"].isna().tolist() == [True, False]
    assert "found a Delta table" in said(page)
    assert "**What to do:** Give another path." in said(page)


def test_why_a_checkpoint_is_unreadable_is_said_once_and_in_words(open_page: OpenPage) -> None:
    page = open_page(FleetReader(assemble([failed("/data/table")], {})), PAGE)
    assert said(page).count("found a Delta table") == 1
    assert "It gave nothing" not in said(page)
    assert "NotACheckpointError" not in said(page)


def test_a_state_that_could_not_be_read_is_unknown_and_no_state_is_none(open_page: OpenPage) -> None:
    unread = Problem(code="CHECKPOINT_DAMAGED", message="state/ cannot be read: refused.", fix="")
    page = open_page(FleetReader(assemble([checkpoint("/d/a"), checkpoint("/d/b", problems=(unread,))], {})), PAGE)
    assert rows_of(page)["state"].isna().tolist() == [True, False]


@with_cases("age_ms", [None, NOW_MS + 1, -(10**17)], ids=["not said", "before 1970", "no such year"])
def test_an_age_that_nobody_knows_is_not_zero(age_ms: int | None, open_page: OpenPage) -> None:
    page = open_page(FleetReader(assemble([checkpoint(age_ms=age_ms)], {})), PAGE)
    assert not page.exception
    assert rows_of(page)["age"].isna().all()
    assert "The longest time without a batch or checkpoint is ?." in said(page)


def test_a_hostile_name_stays_text(open_page: OpenPage) -> None:
    page = open_page(FleetReader(fleets.hostile()), PAGE)
    assert "'=cmd()" in rows_of(page)["checkpoint"].tolist()
    made = fleets.hostile()
    for name in named([row.uri for row in made.rows], made.roots).values():
        page.selectbox(key="row").set_value(name).run()
        assert not page.exception
        assert page.header[-1].value.startswith("Facts")
        texts = [str(element.value) for kind in (page.markdown, page.error, page.header) for element in kind]
        assert "<img" not in "\n".join(texts).replace("\\<img", "")


def test_downloads_run_nothing_and_hold_what_is_shown() -> None:
    made = fleets.hostile()
    text = fleet_files.csv(made.rows, NOW_MS).decode()
    assert ",=cmd()" not in text.replace("\n=", ",=")
    assert "'=cmd()" in text
    assert "\u202e" not in text
    lines = fleet_files.json_lines(made.rows).decode().splitlines()
    assert [json.loads(line)["format"] for line in lines] == [
        *["offsetwise/checkpoint"] * 4,
        *["offsetwise/error"] * 4,
        "offsetwise/checkpoint",
    ]
    assert json.loads(lines[-1])["uri"] == "/data/not-\udcff-utf8"


def test_a_download_leaves_unknown_numbers_empty() -> None:
    header, row = fleet_files.csv(assemble([failed("/d/x")], {}).rows, NOW_MS).decode().splitlines()
    found = dict(zip(header.split(","), row.split(","), strict=False))
    assert (found["uri"], found["verdict"], found["age (s)"], found["planned"]) == ("/d/x", "unreadable", "", "")


def test_unknown_values_in_the_url_are_ignored(open_page: OpenPage) -> None:
    unknown: dict[str, str | list[str]] = {
        "migration": "nobody",
        "verdict": ["splendid"],
        "problem": ["NO_SUCH_CODE"],
        "topic": ["../../etc/passwd"],
        "older": "three fortnights",
        "order": "; drop table",
        "rows": "9751–10000",
        "row": "<img src=x onerror=alert(1)>",
        "text": "",
        "nobody-reads-this": "x" * 10_000,
    }
    page = open_page(FleetReader(fleets.a_thousand()), PAGE, **unknown)
    assert not page.exception
    assert len(rows_of(page)) == 250
    assert page.header[-1].value.startswith("Facts")


def test_a_filter_that_nothing_passes_says_so(open_page: OpenPage) -> None:
    page = open_page(FleetReader(fleets.a_thousand()), PAGE, text="no such path")
    assert not page.exception
    assert "No checkpoint passes these filters." in words(page)


def test_two_sessions_keep_filters_of_their_own(open_page: OpenPage) -> None:
    first = open_page(FleetReader(fleets.a_thousand()), PAGE, text="job-99")
    second = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=30)
    second.switch_page(PAGE)
    second.query_params["verdict"] = ["problems"]
    second.run()
    first.run()
    assert (len(rows_of(first)), len(rows_of(second))) == (10, 7)


class TestLive:
    def test_it_is_read_when_a_person_asks_and_then_held(self, open_page: OpenPage) -> None:
        reader = FleetReader(fleets.a_thousand())
        page = open_page(reader, PAGE, migration="orders-to-new")
        assert "Nothing was read yet." in words(page)
        assert reader.calls["fleet of orders-to-new"] == 0
        page.button(key="fleet-now").click().run()
        assert figures(page)["Checkpoints"] == "1,000"
        page.run()
        assert reader.calls["fleet of orders-to-new"] == 1

    def test_a_failure_keeps_what_was_read_before(self, open_page: OpenPage) -> None:
        reader = FleetReader(fleets.a_thousand())
        page = open_page(reader, PAGE, migration="orders-to-new")
        page.button(key="fleet-now").click().run()
        reader.given = SparkError("Spark: expected an answer, the JVM is gone.", fix="Look at its log.")
        page.button(key="fleet-again").click().run()
        assert "the JVM is gone" in said(page)
        assert "is still shown" in said(page)
        assert figures(page)["Checkpoints"] == "1,000"

    def test_two_askers_share_one_reading(self) -> None:
        reader = FleetReader(fleets.a_thousand())
        held = answers.Answers(reader)
        question = Question.of(Reader.fleet, "orders-to-new")
        held.read(question).outcome.result(timeout=10)
        assert held.cached(question) is held.cached(Question.of(Reader.fleet, "orders-to-new"))
        assert reader.calls["fleet of orders-to-new"] == 1


def test_a_root_that_is_gone_is_told_and_the_others_are_shown(open_page: OpenPage) -> None:
    gone = RootTrouble(root="/mnt/gone", problem="/mnt/gone: expected a folder, found nothing.", fix="Mount it.")
    page = open_page(FleetReader(assemble([checkpoint()], {}, troubles=(gone,))), PAGE)
    assert not page.exception
    assert "/mnt/gone: expected a folder, found nothing." in said(page)
    assert "Mount it." in said(page)
    assert len(rows_of(page)) == 1


def test_no_checkpoint_at_all_says_what_to_do(open_page: OpenPage) -> None:
    page = open_page(FleetReader(Fleet(rows=(), folders=12)), PAGE)
    assert not page.exception
    assert "No checkpoint was found." in words(page)
    assert "12 folders looked into" in words(page)
    assert "no `checkpoint_roots` named" in words(page)


@pytest.fixture(scope="module")
def many_kinds(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Real folders of many kinds below one root, another root that is gone, and one checkpoint outside of both."""
    folder = tmp_path_factory.mktemp("fleet")
    root = folder / "root"
    shutil.copytree(SAMPLES, root / "recorded")
    write(folder_of({0: orders(7)}, (0,)), root / "plain")
    write(folder_of({0: orders(7)}, (0,)), root / "copy" / "of" / "it")
    write(folder_of({0: b"garbled"}, (0,)), root / builders.HTML.replace("/", "-"))
    write(folder_of({0: orders(7)}, (0,)), root / "[brackets]")
    (root / "empty").mkdir()
    write(
        {"_delta_log/0.json": b"{}", "_checkpoints/q/metadata": b'{"id":"4af5d86a-37bb-4fe9-8d34-0a64a0d2ba68"}'},
        root / "table",
    )
    named = {"plain": "root/plain", "empty": "root/empty", "table": "root/table", "outside": "/etc"}
    roots = [str(root), str(folder / "gone")]
    return Reader((fleets.write_migration(folder, roots=roots, checkpoints=named),))


def test_real_folders_of_many_kinds_are_rows_through_spark(many_kinds: Reader, open_page: OpenPage) -> None:
    page = open_page(many_kinds, PAGE, migration="mine", order="by path")
    answers.current().read(Question.of(Reader.fleet, "mine")).outcome.result(timeout=400)
    page.run()
    assert not page.exception
    table = rows_of(page)
    verdicts = {Path(name).name: verdict for name, verdict in zip(table["checkpoint"], table["verdict"], strict=True)}
    flink = {each.name for each in SAMPLES.glob("flink-*")}
    assert {verdicts.pop(name) for name in flink} == {"✓ restartable"}
    assert verdicts == {
        "spark-3.5.1-planned": "◇ pending batch",
        "spark-4.0.0-agg-rocksdb": "✓ restartable",
        "spark-4.0.0-multi": "◇ pending batch",
        "spark-4.2.0-agg-rocksdb": "✓ restartable",
        "spark-4.1.1-real-time": "✓ restartable",
        "spark-4.2.0-async": "✓ restartable",
        "spark-4.2.0-named-in-v1": "✓ restartable",
        "spark-4.2.0-named-sources": "✓ restartable",
        "spark-4.2.0-pending-in-v2": "◇ pending batch",
        "spark-4.2.0-repartition-unfinished": "! problems",
        "spark-4.2.0-offset-log-v2": "✓ restartable",
        "spark-4.2.0-polluted-after-failed-start": "! problems",
        "plain": "✓ restartable",
        "it": "✓ restartable",
        "q": "! problems",
        "<img src=x onerror=alert(1)>": "! problems",
        "[brackets]": "? unreadable",
        "empty": "? unreadable",
        "table": "? unreadable",
        "outside": "? unreadable",
    }
    assert "gone: expected a folder, found nothing" in said(page)
    assert set(table["copies"]) == {"", "▲ 4 alike"}
    page.selectbox(key="row").select("outside").run()
    assert "expected a path inside the configured roots" in said(page)
