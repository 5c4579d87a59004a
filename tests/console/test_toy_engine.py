"""The screens over an engine that only the tests know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.fleets import assemble
from offsetwise.registry import ENGINES
from tests.console import builders
from tests.console.conftest import COMPARE, OpenPage, settle, words
from tests.console.readers import ValueReader
from tests.console.test_checkpoint_page import FolderReader
from tests.toys.engine.engine import TOY
from tests.toys.test_engine import toy


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, TOY.name, lambda: TOY)


def test_the_checkpoint_screen_shows_where_each_partition_continues(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(FolderReader({"train": toy(tmp_path)}), "pages/explore/checkpoint.py", of="checkpoint train")
    settle(page)

    assert not page.exception
    assert "**The restart.** The toy goes on in 2 partitions" in words(page)
    held = next(one.value for one in page.dataframe if "next record" in one.value)
    assert held["next record"].tolist() == [1050, 1050]


def test_the_fleet_screen_lists_it(open_page: OpenPage, tmp_path: Path) -> None:
    read = read_checkpoint(str(toy(tmp_path)))
    reader = ValueReader(live=builders.comparison())
    reader.fleet_given = assemble([read], {read.uri: ("train",)})
    page = open_page(reader, "pages/operate/fleet.py", migration="orders-to-new")
    next(button for button in page.button if str(button.key).endswith("-now")).click().run()
    settle(page)

    assert not page.exception
    assert any("train" in one.value.to_string() for one in page.dataframe)


def test_the_compare_screen_shows_its_positions(open_page: OpenPage, tmp_path: Path) -> None:
    made = replace(builders.comparison(), checkpoint=read_checkpoint(str(toy(tmp_path))))
    page = open_page(ValueReader({"train": made}), COMPARE, migration="sample", of="checkpoint train")

    assert not page.exception
    assert "**Why 950**" in words(page)
