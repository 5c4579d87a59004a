"""Every screen over positions of a stream that is asked on moto's server: read, compared, drafted, reviewed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from offsetwise.console import board
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.errors import ClusterAuthError
from offsetwise.store.store import open_store
from tests.console.boards import ADA, RITA
from tests.console.conftest import settle
from tests.console.test_toys import Console, press, said
from tests.plugins.kinesis.streams import Stream, lease, stream
from tests.review import people
from tests.with_cases import with_cases

__all__ = ["stream"]

APP = "checkpoint app"


@pytest.fixture
def console(stream: Stream, tmp_path: Path) -> Iterator[Console]:
    stream.split()
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"), job="{stream: chain, sink: kafka, stateful: false}")
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", wait_s=60) as store:
        access.use(people.access_with_key(tmp_path))
        board.use(lambda: store.reviews)
        yield Console(Reader((path,)))
    access.use(access.Access())
    st.cache_resource.clear()


def test_from_checkpoint_to_review(console: Console) -> None:
    page = console.open("pages/explore/checkpoint.py", migration="chain", of=APP)
    settle(page)
    assert any("seq:5" in one.value.to_string() for one in page.dataframe)

    page = press(console.open("pages/explore/compare.py", migration="chain", of=APP), "compare-now")
    settle(page)
    assert not page.exception
    shown = ("is the position on the old stream", "The lag took", "CLOSED_SHARD_UNREAD", "Both are one")
    for told in (*shown, "**Why TRIM_HORIZON**", "right for all 4 shards"):
        assert told in said(page)

    page = console.open("pages/explore/overview.py", ADA)
    assert not page.exception

    way = "begin a Spark query at the positions, without its state"
    page = console.open("pages/plan/draft.py", ADA, way=way, migration="chain", of=APP)
    assert not page.exception
    held = "\n".join(one.value.to_string() for one in page.dataframe)
    for told in ("seq:5", "seq:9", "TRIM_HORIZON"):
        assert told in held
    page = press(page, "submit")
    assert "Plan 1 waits for a decision about exactly" in said(page)

    page = console.open("pages/plan/review.py", RITA, plan="1")
    for told in ("seq:5", "**app** of chain"):
        assert told in said(page)


def test_without_the_stream_compare_shows_the_shards_of_the_checkpoint(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise ClusterAuthError("'source': expected to read it, but Kinesis denies it.", fix="Grant it.")

    monkeypatch.setattr("offsetwise.plugins.kinesis.stream.reader._stream", denied)
    page = press(console.open("pages/explore/compare.py", migration="chain", of=APP), "compare-now")
    settle(page)

    assert "Application app: " in said(page)
    assert any("seq:5" in one.value.to_string() for one in page.dataframe)


def test_the_clusters_are_one_stream_and_agree(console: Console) -> None:
    page = press(console.open("pages/explore/clusters.py", ADA, migration="chain", of=APP), "read-both")
    settle(page)

    assert not page.exception
    assert "**The stream agrees**" in said(page)
    assert "expected two clusters" not in said(page)
    assert "A shard lies below those it was made of." in said(page)
    (keys,) = (one.value for one in page.dataframe if "first hash key" in one.value.columns)
    assert list(zip(map(str, keys["shard"]), keys["state"], keys["made of"], strict=True)) == [
        ("0", "closed", ""),
        ("1", "open", ""),
        ("2", "open", "0"),
        ("3", "open", "0"),
    ]
    assert keys["last hash key"].iloc[1] == str(2**128 - 1)


@with_cases("screen", ["explore/lag", "operate/fleet", "plan/export"])
def test_the_other_screens_stand(screen: str, console: Console) -> None:
    page = console.open(f"pages/{screen}.py", ADA, migration="chain", of=APP)
    settle(page)
    assert not page.exception
