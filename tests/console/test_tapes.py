"""Every screen over a stream that only the tests know, whose positions are no integers: read, compared, planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.comparison import Scene, positions_of
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.config import load_migration
from offsetwise.console import board
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.lag.archive import Recording
from offsetwise.lag.sampling import SampleHead, sample_of
from offsetwise.model import Cluster, LagSample
from offsetwise.proof import Proof, match_of
from offsetwise.registry import ENGINES
from offsetwise.store.store import open_store
from offsetwise.streams.reader import read_cluster
from offsetwise.translation.resolve import resolve
from tests import subjects
from tests.console import builders
from tests.console.boards import ADA, RITA
from tests.console.conftest import settle
from tests.console.readers import ValueReader
from tests.console.test_toys import Console, press, said
from tests.lag_samples import BEGIN_MS
from tests.review import people
from tests.toys.engine.engine import TOY
from tests.toys.registering import register_stream, register_target
from tests.toys.test_stream import shelved

TRAIN = "checkpoint train"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setitem(ENGINES, TOY.name, lambda: TOY)
    register_target(monkeypatch)
    register_stream(monkeypatch)
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", wait_s=60) as store:
        access.use(people.access_with_key(tmp_path))
        board.use(lambda: store.reviews)
        yield shelved(tmp_path)
    access.use(access.Access())
    st.cache_resource.clear()


def test_from_checkpoint_to_export(folder: Path) -> None:
    console = Console(Reader((folder / "migration.yaml",)))

    page = console.open("pages/explore/checkpoint.py", migration="tapes", of=TRAIN)
    settle(page)
    assert any("s-1050" in one.value.to_string() for one in page.dataframe)

    page = press(console.open("pages/explore/compare.py", migration="tapes", of=TRAIN), "compare-now")
    settle(page)
    assert "**Why s-0950**" in said(page)
    assert "The copy says that s-1050 is s-0950." in said(page)

    page = console.open("pages/explore/overview.py", ADA)
    assert "2 of 2 partitions would go wrong" in said(page)

    page = console.open(
        "pages/plan/draft.py", ADA, way="positions for a tool of one's own", migration="tapes", of=TRAIN
    )
    assert any("s-0950" in one.value.to_string() for one in page.dataframe)
    page = decide(page, "950", "by mistake")
    assert "Expected a position such as s-1050, found '950'. Nothing was changed." in said(page)
    page = decide(page, "s-0940", "ten labels earlier")
    page = press(page, "submit")
    assert "Plan 1 waits for a decision about exactly" in said(page)

    page = console.open("pages/plan/review.py", RITA, plan="1")
    for told in ("CSV of positions", "**train** of tapes", "s-0940"):
        assert told in said(page)
    page.text_input(key="typed-1").set_value("orders")
    page = press(page, "approve-1")
    assert "**Approved: version" in said(page)

    page = console.open("pages/plan/export.py", RITA, plan="1")
    assert "starting-offsets" not in said(page), "a toy has no such option"
    assert "groups.csv" not in said(page), "its positions are no offsets of Kafka"


def test_the_lag_is_shown_where_it_stands_and_its_size_as_unknown(folder: Path) -> None:
    reader = ValueReader(live=builders.comparison())
    reader.samples = Recording((sample(folder),))
    page = Console(reader).open("pages/explore/lag.py")

    assert [card.value for card in page.metric][:2] == [":gray[?]", ":gray[?]"]
    held = page.dataframe[0].value
    assert held["position"].tolist() == ["s-1050", "s-0990"]
    assert held["place on new"].tolist() == ["s-0950", "s-0890"]


def test_the_clusters_are_shown(folder: Path) -> None:
    page = Console(Reader((folder / "migration.yaml",))).open("pages/explore/clusters.py", migration="tapes", of=TRAIN)
    print([(b.key, b.label) for b in page.button])
    page = press(page, "read-both")
    settle(page)
    page = press(page, "standings-old-now")
    settle(page)

    logs, stand = page.dataframe[0].value, page.dataframe[-1].value
    assert (logs["old log start"].tolist(), logs["new HW"].tolist()) == (["s-0100"] * 2, ["s-1100", "s-0990"])
    assert stand["offset"].tolist() == ["s-1050", "s-0990"]


def test_the_fleet_lists_it_with_its_positions(folder: Path) -> None:
    page = Console(Reader((folder / "migration.yaml",))).open("pages/operate/fleet.py", migration="tapes")
    page.button(key="fleet-now").click().run()
    settle(page)

    assert not page.exception
    assert any("s-1050" in one.value.to_string() for one in page.dataframe)


def decide(page: AppTest, position: str, reason: str) -> AppTest:
    page.text_input(key="offset-orders-0").input(position)
    page.text_input(key="reason-orders-0").input(reason)
    next(button for button in page.main.button if button.label == "Decide").click()
    page.run()
    assert not page.exception
    return page


def sample(folder: Path) -> LagSample:
    migration = load_migration(folder / "migration.yaml")
    old, new = (read_cluster(migration, side, topics=None, groups=()) for side in Cluster)
    who = subjects.checkpoint("orders")
    read = ReadSubject(kind=who.kind, name=who.name, read=read_checkpoint(str(folder / "toys" / "train")))
    scene = Scene.of(migration, read, old, new, live=False)
    rows = [
        resolve(replace(match_of(scene, at, Proof()), planned=None, pending_equal=None)) for at in positions_of(scene)
    ]
    made = sample_of(SampleHead(taken_at_ms=BEGIN_MS, sampled_by="the test"), scene, rows)
    return replace(made, migration="orders-to-new")
