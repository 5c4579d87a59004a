"""The Checkpoint page over Flink: savepoints recorded from real jobs, and one put together by hand."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.console.conftest import OpenPage, settle, words
from tests.console.test_checkpoint_page import FolderReader
from tests.sources.flink_files import kafka_source, metadata
from tests.sources.folders import SAMPLES, write

CHECKPOINT = "pages/explore/checkpoint.py"


def _tables(page: AppTest) -> str:
    return "\n".join(one.value.to_string() for one in page.dataframe)


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
