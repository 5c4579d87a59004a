"""The pages over Flink: the bundled sample, savepoints recorded from real jobs, and one put together by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from offsetwise import workflow
from offsetwise.bundled import Bundled
from offsetwise.console.reader import Reader
from offsetwise.errors import MissingError
from offsetwise.model import RawVerdict
from tests.console.conftest import OpenPage, settle, words
from tests.console.test_checkpoint_page import FolderReader
from tests.plugins.flink.files import kafka_source, metadata
from tests.plugins.spark.folders import SAMPLES, write
from tests.with_cases import with_cases

CHECKPOINT = "pages/explore/checkpoint.py"
SAMPLE = "order-counts-to-new (sample)"
STOPPED, RETAINED = "checkpoint order-counts", "checkpoint order-counts-retained"
KILLED = "checkpoint order-audit"


@pytest.fixture(scope="module")
def bundled() -> Reader:
    return Reader(())


def _tables(page: AppTest) -> str:
    return "\n".join(one.value.to_string() for one in page.dataframe)


def test_the_overview_shows_both_engines_and_opens_either_with_one_click(open_page: OpenPage, bundled: Reader) -> None:
    page = open_page(bundled)
    assert not page.exception
    assert [button.label for button in page.button][1:3] == ["Open the sample", "Open the Flink sample"]
    assert r"**The same for Flink.** orders\-0 is at **1,050**" in words(page)
    assert "belongs at **950**" in words(page)


def test_the_recorded_savepoint_stands_at_1050_where_the_new_cluster_has_950() -> None:
    seen = workflow.sample_comparison("order-counts", Bundled.FLINK)
    row = next(each for each in seen.partitions if each.topic_partition == ("orders", 0))
    assert (row.old_offset, row.new_offset, row.raw.verdict) == (1050, 950, RawVerdict.LOSS)
    assert row.exactness.proven
    assert seen.checkpoint is not None
    assert seen.checkpoint.engine == "flink"


def test_the_checkpoint_page_tells_what_a_savepoint_is_and_holds(open_page: OpenPage, bundled: Reader) -> None:
    page = open_page(bundled, CHECKPOINT, migration=SAMPLE, of=STOPPED)
    assert not page.exception
    said, held = words(page), _tables(page)
    assert "**The restart.** Savepoint" in said
    assert "canonical" in said
    assert "restoring reads nothing twice" in said
    assert {"Savepoint", "Age", "Operators", "Open transactions"} <= {one.label for one in page.metric}
    assert "SourceReaderState" in held
    assert "1050" in held
    assert "Batches over time" not in [one.value for one in page.header]


def test_an_earlier_retained_checkpoint_can_be_chosen_and_says_what_it_would_read_again(
    open_page: OpenPage, bundled: Reader
) -> None:
    page = open_page(bundled, CHECKPOINT, migration=SAMPLE, of=RETAINED)
    choice = page.selectbox(key="retained")
    assert all(name.startswith("chk-") for name in choice.options)
    choice.select(choice.options[-1]).run()
    assert not page.exception
    assert "Starting here instead reads" in words(page)
    assert f"Checkpoint {choice.options[-1].removeprefix('chk-')}" in words(page)


def test_a_retained_checkpoint_that_is_gone_is_said_with_those_that_are_left() -> None:
    migration = workflow.sample(Bundled.FLINK)
    with pytest.raises(MissingError, match="expected checkpoint 99 beside it, found 5, 4"):
        workflow.checkpoint_reading(migration, "order-counts-retained", retained=99)


def test_what_the_recorded_savepoint_of_a_killed_job_holds_is_decided_offline_on_the_checkpoint_page(
    open_page: OpenPage, bundled: Reader
) -> None:
    migration = workflow.sample(Bundled.FLINK)
    assert [migration.sink(each) for each in migration.checkpoints] == [migration.source] * 3

    page = open_page(bundled, CHECKPOINT, migration=SAMPLE, of=KILLED)
    assert not page.exception
    held = next(one.value for one in page.dataframe if "of checkpoint" in one.value)
    assert held["transactional id"].tolist() == ["order-audit-0-1", "order-audit-1-1"]
    decided = next(one.value for one in page.dataframe if "decision" in one.value)
    assert [each.split()[-1] for each in decided["decision"]] == ["commit", "abort", "commit", "abort"]
    said = words(page)
    assert "**4 transactions to be ended or looked into**" in said
    assert re.search(
        r"The first time-out was at \*\*[0-9-]+ [0-9:]+ UTC\*\*: 14 min \d+ s were left when the sample was", said
    )
    assert "held back in 2 partitions of the sink" in said
    assert "sink-transactions-now" not in [each.key for each in page.button], "there is nobody to ask"


def test_a_settled_checkpoint_of_the_sample_says_so(open_page: OpenPage, bundled: Reader) -> None:
    page = open_page(bundled, CHECKPOINT, migration=SAMPLE, of=RETAINED)
    assert not page.exception
    held = next(one.value for one in page.dataframe if "of checkpoint" in one.value)
    assert held["transactional id"].tolist() == ["order-counts-0-6", "order-counts-1-6"]
    assert "**Nothing is open.** What the checkpoint holds is settled." in words(page)


def test_the_clusters_page_of_the_sample_shows_who_is_held_up(open_page: OpenPage, bundled: Reader) -> None:
    page = open_page(bundled, "pages/explore/clusters.py", migration=SAMPLE, of=KILLED)
    page.selectbox(key="sink").select("order-audit").run()
    assert not page.exception
    said = words(page)
    assert "▲ commit" in said
    assert "**2**" in said
    assert "held back in 2 partitions of the sink" in said


def test_transactions_of_the_sink_are_shown_with_their_schema(open_page: OpenPage) -> None:
    page = open_page(FolderReader({"s": SAMPLES / "flink-2.3-pending-transaction"}), CHECKPOINT, of="checkpoint s")
    settle(page)
    assert not page.exception
    assert "flinktx-0-2" in _tables(page)
    assert "received" in _tables(page)
    assert "can be committed there only" in words(page)


def test_markers_are_words_and_never_offsets(open_page: OpenPage, tmp_path: Path) -> None:
    folder = tmp_path / "savepoint-1"
    write({"savepoint-1/_metadata": metadata(kafka_source({0: 1050, 1: -1, 2: -2, 3: -3}), version=6)}, tmp_path)
    page = open_page(FolderReader({"s": folder}), CHECKPOINT, of="checkpoint s")
    settle(page)
    assert not page.exception
    held = next(one.value for one in page.dataframe if "next record" in one.value)
    assert held["starts at"].tolist() == ["", "latest record", "earliest record", "the group's committed offset"]
    assert held["next record"].isna().tolist() == [False, True, True, True]


def test_a_damaged_savepoint_is_told_in_words(open_page: OpenPage, tmp_path: Path) -> None:
    whole = (SAMPLES / "flink-1.20" / "_metadata").read_bytes()
    write({"savepoint-1/_metadata": whole[:300]}, tmp_path)
    page = open_page(FolderReader({"s": tmp_path / "savepoint-1"}), CHECKPOINT, of="checkpoint s")
    settle(page)
    assert not page.exception
    assert "This could not be read" in words(page)


@with_cases(
    ("path", "told"),
    {
        "explore/compare": "**Why 950**",
        "explore/lag": "Newest sample",
        "explore/clusters": "differ",
        "operate/fleet": "continues with clicks",
        "operate/audit": "Who did or tried what",
        "operate/cutover": "This cutover was recorded from two real clusters",
        "plan/review": "walk the whole path now with the bundled samples",
        "plan/export": "Plans and approvals as files",
        "help/help": "The bundled **sample migrations**",
    }.items(),
    ids=lambda each: each,
)
def test_every_other_page_opens_on_the_flink_sample(open_page: OpenPage, bundled: Reader, path: str, told: str) -> None:
    page = open_page(bundled, f"pages/{path}.py", migration=SAMPLE, of=STOPPED)
    settle(page)
    assert not page.exception
    assert "could not be read" not in words(page)
    assert told in words(page)


def test_the_ways_of_flink_are_offered_with_their_commands(open_page: OpenPage, bundled: Reader) -> None:
    page = open_page(bundled, "pages/plan/draft.py", migration=SAMPLE, of=STOPPED)
    assert not page.exception
    ways = page.selectbox(key="way").options
    assert "edit the savepoint, in a copy" in ways
    assert not any("checkpoint copied" in each or "seeded" in each for each in ways)
    commands = "\n".join(str(one.value) for one in page.code)
    assert "flink stop --type canonical --savepointPath" in commands
    assert "SET 'execution.state-recovery.path' = 'DIR'" in commands
