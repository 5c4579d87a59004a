"""A PostgreSQL server stops under an open page: the page says so, nothing is half-written, and it goes on later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from offsetwise.store.review_rows import State
from tests.apply.canaries import found
from tests.console.boards import ADA, RITA, Stage, sent, staged
from tests.console.conftest import words
from tests.store.conftest import server
from tests.store.postgres import PASSWORD_VARIABLE, Server

__all__ = ["server"]

PAGES = {"review": "pages/plan/review.py", "export": "pages/plan/export.py", "audit": "pages/operate/audit.py"}


@pytest.fixture
def here(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv(PASSWORD_VARIABLE, server.password)
    with staged(server.new_database(), tmp_path, wait_s=2) as made:
        yield made


def told(page: AppTest, server: Server) -> bool:
    """Whether a page says what is the matter, and what to do, and no password."""
    assert not page.exception
    assert found([server.password], [("the page", sent(page))]) == []
    said = words(page).replace("\\", "")
    return "the server gives no answer that can be used" in said and "Check that the server runs" in said


def test_a_decision_is_refused_in_words_while_the_server_is_down_and_made_when_it_is_back(
    here: Stage, server: Server
) -> None:
    saved = here.scene.submitted(ADA)
    remark, approve = f"remark-{saved.plan}", f"approve-{saved.plan}"
    page = here.open(PAGES["review"], RITA)
    page.text_area(key=remark).set_value("I looked at it.")
    server.stop()
    try:
        page.button(key=approve).click().run()
        assert told(page, server)
        for address in PAGES.values():
            assert told(here.open(address, RITA), server), address
    finally:
        server.start()

    sheet = here.scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert (sheet.row.state, sheet.decisions, sheet.comments) == (State.SUBMITTED, (), ())
    assert here.scene.board.check_chain(RITA).rows == 2

    page.run()
    assert page.text_area(key=remark).value == "I looked at it.", "what was written is not lost"
    page.button(key=approve).click().run()
    assert not page.exception
    assert "**Approved: version" in words(page)
    sheet = here.scene.board.sheet(RITA, saved.plan)
    assert sheet is not None
    assert (sheet.row.state, len(sheet.decisions)) == (State.APPROVED, 1)
    assert [each.body for each in sheet.comments] == ["I looked at it."]
    chain = here.scene.board.check_chain(RITA)
    assert (chain.rows, chain.intact) == (4, True)
