"""Every screen over an engine and a target that only the tests know: from Overview to what Export hands out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise import workflow
from offsetwise.comparison import Scene
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.console import answers, board
from offsetwise.console.reader import Reader
from offsetwise.console.server import access
from offsetwise.lag.archive import Recording
from offsetwise.lag.sampling import SampleHead, sample_of
from offsetwise.model import Cluster, LagSample
from offsetwise.registry import ENGINES
from offsetwise.review.people import Person
from offsetwise.store.store import open_store
from tests.console.boards import ADA, RITA, claims
from tests.console.conftest import APP, words
from tests.console.readers import ORDERS, ValueReader
from tests.console.test_shell import SECRETS
from tests.lag_samples import BEGIN_MS
from tests.plan import scene
from tests.review import people
from tests.toys.engine.engine import TOY
from tests.toys.registering import register_target
from tests.toys.test_engine import proven


class ToyReader(ValueReader):
    """A console with one live migration, of a toy whose positions were compared."""

    def __init__(self, folder: Path) -> None:
        self.compared = replace(proven(folder), migration="orders-to-new")
        super().__init__({}, live=self.compared)
        old, new = (scene.snapshot(side, self.compared.partitions) for side in Cluster)
        self.seen = replace(self.compared, read_from=(old, new))
        self.samples = Recording((self._sample(),))

    def _sample(self) -> LagSample:
        read = Scene.of(
            workflow.sample(),
            ReadSubject(kind=ORDERS.kind, name=ORDERS.name, read=self.compared.checkpoint),
            replace(scene.snapshot(Cluster.OLD, self.compared.partitions), groups=()),
            replace(scene.snapshot(Cluster.NEW, self.compared.partitions), groups=()),
            live=False,
        )
        head = SampleHead(taken_at_ms=BEGIN_MS, sampled_by="the test")
        return sample_of(head, read, self.compared.partitions)


class Console:
    """Pages of one console, with people who sign in."""

    def __init__(self, reader: Reader) -> None:
        answers.use(reader)

    def open(self, page: str, somebody: Person | None = None, **parameters: str) -> AppTest:
        """Open a page in a session of its own."""
        made = AppTest.from_file(str(APP), default_timeout=60)
        made.user, made.secrets = claims(somebody), SECRETS
        made.switch_page(page)
        for name, value in {"migration": "orders-to-new", "of": str(ORDERS), **parameters}.items():
            made.query_params[name] = value
        made.run()
        assert not made.exception
        return made


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    monkeypatch.setitem(ENGINES, TOY.name, lambda: TOY)
    register_target(monkeypatch)
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", wait_s=60) as store:
        access.use(people.access_with_key(tmp_path))
        board.use(lambda: store.reviews)
        yield Console(ToyReader(tmp_path))
    access.use(access.Access())
    st.cache_resource.clear()


def press(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click().run()
    assert not page.exception
    return page


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


def test_from_overview_to_export(console: Console) -> None:
    page = press(console.open("pages/explore/compare.py"), "compare-now")
    assert "950" in said(page)

    page = console.open("pages/explore/overview.py", ADA)
    assert "checkpoint orders" in page.dataframe[0].value["job"].tolist()

    page = console.open("pages/explore/lag.py")
    assert [(card.label, card.value) for card in page.metric][:2] == [("● Lag on old", "150"), ("◆ Lag on new", "150")]
    assert page.dataframe[1].value["lag new"].tolist() == [150]

    page = console.open("pages/plan/draft.py", ADA, way="positions for a tool of one's own")
    assert "**Keeps**\n\n- the positions" in said(page)
    page = press(page, "submit")
    assert "Plan 1 waits for a decision about exactly" in said(page)

    page = console.open("pages/plan/review.py", RITA, plan="1")
    for told in ("CSV of positions", "**train** of orders-to-new"):
        assert told in said(page)
    page = press(page, "approve-1")
    assert "**Approved: version" in said(page)

    page = console.open("pages/plan/export.py", RITA, plan="1")
    assert "starting-offsets" not in said(page), "a toy has no such option"
    (file,) = (
        each for each in page.download_button if str(each.key).endswith(".json") and "approval" not in str(each.key)
    )
    assert file.label == "Download"
