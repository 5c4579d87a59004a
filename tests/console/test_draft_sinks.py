"""The sink's transactions on the Draft page, asked about at a click and then offered to be marked, and on Review."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise import workflow
from offsetwise.console import answers, board
from offsetwise.console.answers import Question
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import access
from offsetwise.console.server.access import Access
from offsetwise.model import Cluster, Comparison, Plan, Subject
from offsetwise.plan.request import DraftRequest
from offsetwise.progress import Progress
from offsetwise.store.store import open_store
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.report import SinkTransactions
from tests.console.conftest import APP, settle, words
from tests.console.readers import ORDERS, ValueReader
from tests.plan.scene import migration, snapshot
from tests.plan.test_sinks import MOVES, OTHER, SETTLED, holding, plan, row, said

DRAFT = "pages/plan/draft.py"
ASK, MARK = "sink-of-draft-now", "mark-settled"


class SinkReader(ValueReader):
    """Offers one comparison of a Flink job whose sink moves, and one answer of the sink's cluster."""

    def __init__(self, answer: SinkTransactions) -> None:
        made = holding()
        super().__init__(live=made)
        self.seen = replace(
            made, read_from=(snapshot(Cluster.OLD, made.partitions), snapshot(Cluster.NEW, made.partitions))
        )
        self._answer = answer

    def offered(self) -> tuple[Offered, ...]:
        *others, live = super().offered()
        return (*others, replace(live, sinks=((ORDERS, "transactions of checkpoint /checkpoints/orders"),)))

    def sink_transactions(
        self,
        migration: str,
        name: str,
        topics: tuple[str, ...],
        progress: Progress,  # noqa: ARG002 - the reader's
    ) -> SinkTransactions:
        assert (migration, name, topics) == ("orders-to-new", "orders", ())
        self.calls["sink_transactions"] += 1
        return self._answer

    def draft(
        self,
        migration: str,
        subject: Subject,
        comparison: Comparison,
        request: DraftRequest,
        drafted_at: str,
    ) -> Plan:
        assert migration == "orders-to-new"
        assert not request.mark_settled or request.sink is not None, "drawing a page contacts no cluster"
        return workflow.draft(_MIGRATION, subject, request, drafted_at=drafted_at, comparison=comparison)


_MIGRATION = migration(MOVES)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path) -> Iterator[None]:
    """Keep plans in a store of their own."""
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'plans.sqlite'}", wait_s=60) as store:
        board.use(lambda: store.reviews, lambda: store.reviews)
        yield
    access.use(Access())
    st.cache_resource.clear()


def opened(reader: SinkReader) -> AppTest:
    """Open the page after the comparison was made."""
    answers.use(reader)
    reading = answers.current().read(Question.of(Reader.comparison, "orders-to-new", ORDERS))
    reading.outcome.result(timeout=60)
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.switch_page(DRAFT)
    made.query_params["migration"] = "orders-to-new"
    made.query_params["of"] = str(ORDERS)
    made.run()
    assert not made.exception
    return made


def asked(page: AppTest) -> AppTest:
    page.button(key=ASK).click().run()
    settle(page)
    page.run()
    assert not page.exception
    return page


def marking(page: AppTest) -> AppTest:
    page.checkbox(key=MARK).check().run()
    assert not page.exception
    return page


def test_nobody_asks_the_sinks_cluster_before_a_click_and_nothing_is_marked_before_it_answered() -> None:
    reader = SinkReader(SETTLED)
    page = opened(reader)

    assert reader.calls["sink_transactions"] == 0
    assert page.checkbox(key=MARK).disabled
    assert "SINK" in words(page)
    assert "--set mark_settled=true" in words(page).replace("\\", "")

    asked(page)
    assert reader.calls["sink_transactions"] == 1
    assert not page.checkbox(key=MARK).disabled

    said_ = words(marking(page)).replace("\\", "")
    assert reader.calls["sink_transactions"] == 1
    assert "will be marked as committed in the copy" in said_
    assert "Everything that the savepoint holds is committed" in said_


def test_29_what_is_not_settled_is_not_marked_and_the_page_says_why() -> None:
    page = marking(asked(opened(SinkReader(said(row(OTHER, Decision.LOST, "CompleteAbort"))))))

    told = words(page).replace("\\", "")
    assert "This plan is not allowed" in told
    assert "MARK_NOT_SETTLED" in told
    assert "tx-1-4 (producer 8, epoch 1) is LOST" in told


def test_what_is_still_open_leads_to_the_plan_that_commits_it_first() -> None:
    page = asked(opened(SinkReader(said(row(OTHER, Decision.COMMIT, "Ongoing")))))

    page.button(key="settle-first").click().run()
    assert not page.exception
    assert page.selectbox(key="does").value == "settle the sink's transactions"


def test_a_reviewer_sees_every_mark_and_why() -> None:
    def draw() -> None:
        import streamlit  # noqa: PLC0415 - run as a page of its own

        from offsetwise.console.plan import sinks  # noqa: PLC0415 - as above

        sinks.marked(streamlit.session_state["plan"])

    page = AppTest.from_function(draw, default_timeout=60)
    page.session_state["plan"] = plan()
    page.run()
    assert not page.exception
    (table,) = page.dataframe
    assert table.value["transactional id"].tolist() == ["tx-0-4", "tx-1-4"]
    assert table.value["why"].tolist() == ["It is so (SETTLED)."] * 2
    assert "does not commit them again" in words(page)

    page.session_state["plan"] = plan(mark_settled=False)
    assert not page.run().dataframe
