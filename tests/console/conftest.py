"""Pages run as Streamlit runs them, over a reader of the test's own."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from offsetwise.console import answers, board, reader
from offsetwise.console.answers import Answers, CachedAnswer, Question, Reading
from offsetwise.console.plan.panel import unsent
from offsetwise.console.reader import Reader
from offsetwise.console.warm_spark import WarmSpark
from offsetwise.console.widgets import downloads
from offsetwise.console.widgets.escaping import BREAK
from offsetwise.recent import Recent
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store

APP = Path(__file__).parents[2] / "app.py"
COMPARE = "pages/explore/compare.py"

OpenPage = Callable[..., AppTest]
AskedFor = Callable[[str], bytes]


@pytest.fixture(scope="session", autouse=True)
def _spark_stays() -> Iterator[None]:
    """Free no Spark in this process: tests of other folders use the same one, which a console knows nothing of."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reader, "WarmSpark", partial(WarmSpark, idle_s=86_400))
        yield


def words(page: AppTest) -> str:
    """Everything that a page says in text; not what keeps an address from being a link."""
    shown = (page.markdown, page.error, page.warning, page.info, page.success, page.code)
    return "\n".join(str(element.value) for kind in shown for element in kind).replace(BREAK, "")


def figures(page: AppTest) -> dict[str, str]:
    """The numbers of a page's cards by their labels, without the colours that they are in."""
    return {card.label: uncoloured(card.value) for card in page.metric}


def uncoloured(value: str) -> str:
    """The value of a card without the colour that it is in."""
    return re.sub(r"^:[a-z]+\[(.*)\]$", r"\1", value)


def settle(page: AppTest) -> None:
    """Wait for the end of what is being read, as the browser does: by looking again."""
    for _ in range(200):
        if not page.status:
            return
        time.sleep(0.05)
        page.run()


def answer_at_look(patched: pytest.MonkeyPatch, verb: str, number: int) -> None:
    """Let a question for this verb be answered right after the page looked for its answer for the n-th time."""
    gate, looks = threading.Event(), itertools.count(1)
    run, held = Answers._run, Answers.cached

    def run_behind_gate(self: Answers, question: Question[Any], reading: Reading[Any]) -> None:
        assert gate.wait(timeout=60)
        run(self, question, reading)

    def look(self: Answers, question: Question[Any]) -> CachedAnswer[Any] | None:
        found, reading = held(self, question), self.reading(question)
        if question.verb == verb and reading is not None and next(looks) == number:
            gate.set()
            reading.outcome.result(timeout=60)
        return found

    patched.setattr(Answers, "_run", run_behind_gate)
    patched.setattr(Answers, "cached", look)


@pytest.fixture(autouse=True, scope="session")
def _packages_stay() -> Iterator[None]:
    """Every page run by `AppTest` reads the metadata of all installed packages; they stay as they are meanwhile."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def open_page() -> Iterator[OpenPage]:
    """Yield a function that opens a page over a reader, with the URL's parameters."""

    def opened(reader: Reader, page: str | None = None, **parameters: str | list[str]) -> AppTest:
        st.cache_resource.clear()
        answers.use(reader)
        made = AppTest.from_file(str(APP), default_timeout=30)
        if page is not None:
            made.switch_page(page)
        for name, value in parameters.items():
            made.query_params[name] = value
        return made.run()

    yield opened
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def empty_reviews(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Reviews]:
    """Return what opens one store for all tests that only look, never that of whoever runs them."""
    return cache(lambda: open_store(f"sqlite:///{tmp_path_factory.mktemp('store') / 'store.sqlite'}").reviews)


@pytest.fixture(autouse=True)
def _no_store_of_anybody(empty_reviews: Callable[[], Reviews]) -> None:
    board.use(empty_reviews, empty_reviews)


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> AskedFor:
    """Return a function that makes the file of this name as a click on its download does, which `AppTest` cannot."""
    offered: dict[str, Callable[[], bytes]] = {}
    draw = downloads.button

    def drawn(label: str, file_name: str, data: Any, **more: Any) -> None:
        offered[file_name] = data
        draw(label, file_name, data, **more)

    monkeypatch.setattr(downloads, "button", drawn)
    return lambda name: offered[name]()


@pytest.fixture(autouse=True)
def _nothing_unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without the remarks that other tests of this process typed and did not send."""
    monkeypatch.setattr(unsent, "_texts", Recent(200))
