"""Bad input on screen, through the console's own reader: what was expected and found, its effect, the next step."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from streamlit.testing.v1 import AppTest

import offsetwise
from offsetwise.console.reader import Reader
from tests.console.conftest import COMPARE, OpenPage, settle, words
from tests.plugins.spark.folders import orders, write
from tests.with_cases import with_cases

CHECKPOINT = "pages/explore/checkpoint.py"
SAMPLE = Path(offsetwise.__file__).parent / "sample"
Spoil = Callable[[Path], object]


def _gone(folder: Path) -> None:
    shutil.rmtree(folder)


def _empty(folder: Path) -> None:
    _gone(folder)
    folder.mkdir()


def _a_file(folder: Path) -> None:
    _gone(folder)
    folder.write_text("no folder")


def _delta(folder: Path) -> None:
    _gone(folder)
    write({"_delta_log/00000000000000000000.json": b"{}"}, folder)


def _parquet(folder: Path) -> None:
    _gone(folder)
    write({"part-00000.parquet": b"PAR1"}, folder)


def _damaged_savepoint(folder: Path) -> None:
    _gone(folder)
    write({"_metadata": b"\x49\x60\x67\xf2"}, folder)


def _out_of_the_roots(folder: Path) -> None:
    folder.rename(folder.parents[1] / "elsewhere")
    folder.symlink_to(folder.parents[1] / "elsewhere")


def _file(name: str, data: bytes | None) -> Spoil:
    def spoil(folder: Path) -> None:
        if data is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(data)

    return spoil


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the sample as somebody's own migration, whose clusters are down: its checkpoint."""
    shutil.copytree(SAMPLE, tmp_path / "mine")
    file = tmp_path / "mine" / "migration.yaml"
    body = yaml.safe_load(file.read_text(encoding="utf-8"))
    body["name"] = "mine"
    for side, port in (("source", 1), ("target", 2)):
        body[side]["properties"] = {"bootstrap.servers": f"127.0.0.1:{port}"}
    file.write_text(yaml.safe_dump(body), encoding="utf-8")
    return tmp_path / "mine" / "checkpoints" / "orders"


def opened(open_page: OpenPage, folder: Path, page: str) -> AppTest:
    reader = Reader((folder.parents[1] / "migration.yaml",))
    made = open_page(reader, page, migration="mine")
    for button in made.button:
        if button.key == "compare-now":
            button.click().run()
            break
    settle(made)
    return made


def refused(page: AppTest, *told: str) -> None:
    assert not page.exception
    said = words(page).replace("\\", "")
    for text in (*told, "**What to do:**"):
        assert text in said, said
    assert "Traceback" not in said


@with_cases("page", [CHECKPOINT, COMPARE], ids=["checkpoint", "compare"])
@with_cases(
    ("spoil", "found", "effect", "next_step"),
    [
        (_gone, "found nothing", "Nothing was read", "Check the path"),
        (_empty, "found an empty folder", "No position was read", "Check the path"),
        (_a_file, "found a file", "No position was read", "Give the folder"),
        (_delta, "found a Delta table", "No position was read", "checkpointLocation"),
        (_parquet, "found another folder", "No position was read", "Give the folder"),
        (_damaged_savepoint, "found 496067f2", "No position was read", "another checkpoint or savepoint"),
        (_out_of_the_roots, "found one outside of them", "Nothing was read", "checkpoint_roots"),
    ],
    ids=["missing", "empty", "file", "delta", "parquet", "damaged flink", "outside the roots"],
)
def test_what_is_no_checkpoint_is_said_with_the_next_step(
    open_page: OpenPage, folder: Path, page: str, spoil: Spoil, found: str, effect: str, next_step: str
) -> None:
    spoil(folder)

    refused(opened(open_page, folder, page), "expected", found, effect, next_step)


@with_cases(
    ("spoil", "told"),
    [
        (_file("offsets/7", b'v1\n{"batchWatermarkMs":0}\n{"orders":{"0":11'), "offsets/7, source 0 is garbled"),
        (_file("offsets/7", b"v9\n{}\n" + orders(7).encode()), "expected offset log version v1, v2, found v9"),
        (_file("offsets/6", None), "offsets/6 is missing"),
        (_file("offsets/.7.crc", b"crc\0\0\0\2\0\0\0\0\0"), "offsets/.7.crc does not fit offsets/7"),
        (_file("metadata", b"{"), "metadata is garbled"),
    ],
    ids=["truncated", "unknown version", "batch missing", "stale crc", "garbled metadata"],
)
def test_damage_is_said_with_the_next_step(open_page: OpenPage, folder: Path, spoil: Spoil, told: str) -> None:
    spoil(folder)

    refused(opened(open_page, folder, CHECKPOINT), told, "CHECKPOINT_DAMAGED")


def test_a_cluster_that_is_down_is_named_with_the_next_step(open_page: OpenPage, folder: Path) -> None:
    page = opened(open_page, folder, COMPARE)

    refused(page, "127.0.0.1:1: expected a Kafka broker", "Connection refused", "Nothing was read", "bootstrap.servers")
