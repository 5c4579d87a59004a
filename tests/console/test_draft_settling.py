"""The Draft page for a plan that ends transactions of a sink: asked at a click, decided by people, drafted and kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.config import Migration
from offsetwise.console import answers, board
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import access
from offsetwise.console.server.access import Access
from offsetwise.console.widgets.escaping import markdown
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Plan, Settlement, Subject, time_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sinks.ending import counted, settle
from offsetwise.plan.sinks.settled import draft_settling
from offsetwise.progress import Progress
from offsetwise.store.review_rows import State
from offsetwise.store.store import Store, open_store
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.ended import TransactionPlace
from offsetwise.transactions.report import SinkTransactions
from tests.apply.worlds import NOW
from tests.console.conftest import APP, words
from tests.console.conftest import settle as settled_page
from tests.console.readers import ORDERS, ValueReader
from tests.console.test_shell import PEOPLE, ROLES, SECRETS
from tests.transactions.recorded import DATA
from tests.transactions.settling import NOW_MS, found, row
from tests.with_cases import with_cases

DRAFT = "pages/plan/draft.py"
ASK, PLAN = "sink-transactions-now", "settle-now"
SETTLE, HANG = "settle the sink's transactions", "abort hanging transactions"
SAVEPOINT = str(DATA / "c50-incrementing/savepoint-3-pending")
MIGRATION = Migration.model_validate(
    {
        "name": "orders-to-new",
        "source": {"name": "old", "properties": {"bootstrap.servers": "old.invalid:9092"}},
        "target": {"name": "new", "properties": {"bootstrap.servers": "new.invalid:9092"}},
        "checkpoints": [{"name": "orders", "uri": SAVEPOINT, "job": {"sink_cluster": "old"}}],
    }
)
HOSTILE = "<img src=x onerror=alert(1)>=cmd()**x**[a](javascript:1)\u202e`ls`-0-7"
UNEXPLAINED = row(5, Decision.UNEXPLAINED, reason="Nothing explains <b>it</b>.")


class SinkReader(ValueReader):
    """Offers a checkpoint whose sink's cluster says the same at every look."""

    def __init__(self, *rows: SinkTransaction, stated: bool = True) -> None:
        super().__init__()
        self.rows = rows
        self.stated = stated
        self.topics: tuple[str, ...] = ()

    def offered(self) -> tuple[Offered, ...]:
        read = Reader.__new__(Reader)
        read._samples, read._migrations, read._sources = {}, {MIGRATION.name: MIGRATION}, {}
        (made,) = Reader.offered(read)
        return (made if self.stated else replace(made, sinks=()),)

    def sink_transactions(
        self, migration: str, name: str, topics: tuple[str, ...], progress: Progress
    ) -> SinkTransactions:
        assert (migration, name) == ("orders-to-new", "orders")
        progress("look twice", 2, 2)
        self.calls["sink_transactions"] += 1
        self.topics = topics
        return found(*self.rows)

    def settled(self, migration: str, subject: Subject, request: DraftRequest, progress: Progress) -> Plan:
        assert (migration, subject) == ("orders-to-new", ORDERS)
        self.calls["settled"] += 1
        progress("count", 1, 1)
        request = replace(request, subject=subject)
        job = MIGRATION.checkpoints[0].job
        made = settle(
            found(*self.rows), cluster="old", topics=request.sink_topics, request=request, job=job, now_ms=NOW_MS
        )
        held = {
            TransactionPlace(at.topic_partition, each.producer_id, at.start_offset or 0): 7
            for each in made.transactions
            for at in each.partitions
        }
        read = read_checkpoint(SAVEPOINT, history=0)
        return draft_settling(read, counted(made, held), MIGRATION, request, drafted_at=time_of(NOW))


@pytest.fixture(autouse=True)
def kept(tmp_path: Path) -> Iterator[Store]:
    """Keep plans in a store of their own."""
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'plans.sqlite'}", wait_s=60) as store:
        board.use(lambda: store.reviews, lambda: store.reviews)
        access.use(Access(roles=ROLES.model_copy(update={"viewer": ()})))
        yield store
    access.use(Access())
    st.cache_resource.clear()


def opened(reader: SinkReader, does: str | None = SETTLE, who: str = "author") -> AppTest:
    answers.use(reader)
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.user, made.secrets = PEOPLE[who][0], SECRETS
    made.switch_page(DRAFT)
    made.query_params.update({"migration": "orders-to-new", "of": str(ORDERS), **({"does": does} if does else {})})
    made.run()
    assert not made.exception
    return made


def press(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click().run()
    settled_page(page)
    page.run()
    assert not page.exception
    return page


def decide(page: AppTest, names: list[str], how: Settlement, reason: str) -> AppTest:
    page.multiselect(key="settle-ids").set_value(names)
    page.radio(key="settle-as").set_value(how)
    page.text_input(key="settle-reason").input(reason)
    next(button for button in page.main.button if button.label == "Decide").click()
    page.run()
    assert not page.exception
    return page


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


def off(page: AppTest) -> dict[str, Any]:
    return {key: page.button(key=key).disabled for key in ("save", "submit")}


def kept_plan(kept: Store, number: int = 1) -> Plan:
    with kept.reviews.reading("the plan") as look:
        return read_plan(look.content(look.version(1, number).id), subject="the plan")


def test_nobody_is_asked_before_a_click_and_the_plan_that_stood_there_is_what_is_submitted(kept: Store) -> None:
    reader = SinkReader(row(1, Decision.ABORT), row(0, Decision.COMMIT), row(2, Decision.NOTHING, partitions=()))
    page = opened(reader)
    assert not reader.calls

    press(page, ASK)
    assert "2 transactions to be ended or looked into" in said(page)
    assert "The first time-out" in said(page)
    assert (reader.calls["sink_transactions"], reader.calls["settled"], off(page)) == (
        1,
        0,
        {"save": True, "submit": True},
    )

    press(page, PLAN)
    table = next(each.value for each in page.dataframe if "EndTxn" in each.value)
    assert table["transactional id"].tolist() == ["tx-0-7", "tx-1-7"]
    assert table["records"].tolist() == ["7", "7"]
    assert table["partitions"].tolist() == ["sink-0 from 0", "sink-0 from 10"]
    assert "1 transaction is committed and 1 transaction is aborted on the cluster 'old'" in said(page)
    assert "time to settle" in said(page)
    digest = next(each.value for each in page.code if len(str(each.value)) == 64)

    page.button(key="submit").click().run()
    assert f"waits for a decision about exactly `{digest[:8]}`" in said(page)
    made = kept_plan(kept)
    assert [str(each) for each in made.targets] == ["sink-transactions"]
    assert made.moves == f"transactions of checkpoint {SAVEPOINT}"
    with kept.reviews.reading("the plan") as look:
        assert look.plans()[0].state is State.SUBMITTED
    assert reader.calls == {"sink_transactions": 1, "settled": 1}


def test_12_a_person_decides_with_a_reason_about_what_nothing_explains(kept: Store) -> None:
    reader = SinkReader(row(0, Decision.COMMIT), UNEXPLAINED)
    page = press(press(opened(reader), ASK), PLAN)
    assert "This plan is not allowed" in said(page)
    assert "tx-5-7 (producer 5, epoch 1): Nothing explains <b>it</b>." in said(page)
    assert off(page) == {"save": True, "submit": True}

    assert page.radio(key="settle-as").value is None, "nobody is led to either end"
    decide(page, ["tx-5-7"], Settlement.ABORT, " ")
    assert "Not given: the reason. Nothing was changed." in said(page)
    decide(page, ["tx-5-7"], Settlement.ABORT, "Its job was deleted.")
    assert off(page) == {"save": True, "submit": True}, "what was decided since is in no plan yet"
    press(press(page, PLAN), "save")

    one = kept_plan(kept).transactions[1]
    assert (one.transactional_id, one.decision, one.reason) == ("tx-5-7", Settlement.ABORT, "Its job was deleted.")
    assert one.by == kept_plan(kept).author

    again = press(opened(reader), ASK)
    assert "What you save becomes version 2" in said(again)
    (choices,) = (each.value for each in again.dataframe if "by" in each.value)
    assert choices["reason"].tolist() == ["Its job was deleted."]
    press(again, "settlement-back-now")
    decide(again, ["tx-5-7"], Settlement.COMMIT, "Its records were counted.")
    press(press(again, PLAN), "save")
    assert [each.decision for each in kept_plan(kept, 2).transactions] == [Settlement.COMMIT, Settlement.COMMIT]


@with_cases("decision", [Decision.LIVE, Decision.LOST, Decision.DENIED, Decision.WRONG_CLUSTER])
def test_what_refuses_a_plan_of_the_command_line_refuses_this_one(decision: Decision) -> None:
    page = press(press(opened(SinkReader(row(0, Decision.COMMIT), row(1, decision))), ASK), PLAN)

    assert f"{decision}: tx-1-7 (producer 1, epoch 1): So it is." in said(page)
    assert off(page) == {"save": True, "submit": True}


def test_16_what_a_newer_checkpoint_may_hold_is_aborted_only_where_the_sink_is_said_to_be_taken_back() -> None:
    page = press(press(opened(SinkReader(row(1, Decision.NOT_NEWEST))), ASK), PLAN)
    assert "NOT_NEWEST" in said(page)

    page.checkbox(key="transactions-rewound").check().run()
    press(page, PLAN)
    assert "1 transaction is aborted" in said(page)


def test_26_hanging_ones_are_a_plan_of_their_own_and_looked_for_on_topics_that_a_person_names() -> None:
    hangs = row(3, Decision.HANGING, transactional_id=None, broker_state=None, coordinator_epoch=0, held=False)
    reader = SinkReader(hangs, UNEXPLAINED)
    page = opened(reader, HANG)
    page.text_input(key="sink-topics").input("orders-out, , payments-out,orders-out").run()
    press(press(page, ASK), PLAN)

    assert reader.topics == ("orders-out", "payments-out")
    assert not [each for each in page.multiselect if each.key == "settle-ids"]
    table = next(each.value for each in page.dataframe if "EndTxn" in each.value)
    assert (table["transactional id"].tolist(), table["EndTxn"].tolist()) == (["none: it hangs"], ["markers"])
    assert off(page) == {"save": False, "submit": False}


def test_38_names_that_attack_are_shown_escaped_and_decided_about_like_others(kept: Store) -> None:
    reader = SinkReader(row(5, Decision.UNEXPLAINED, transactional_id=HOSTILE, reason=f"{HOSTILE} is open."))
    page = press(opened(reader), ASK)
    assert f"**{markdown(HOSTILE)}**" in words(page) + "".join(str(each.value) for each in page.markdown)
    decide(page, [HOSTILE], Settlement.ABORT, HOSTILE)
    press(page, PLAN)

    shown = [str(each.value) for each in page.markdown]
    assert not [text for text in shown if "<img" in text.replace("\\<img", "")]
    assert "\u202e" not in "".join(shown) + "".join(str(each.value.to_dict()) for each in page.dataframe)
    press(page, "save")
    assert kept_plan(kept).transactions[0].transactional_id == HOSTILE


@with_cases("who", ["viewer", "reviewer"])
def test_who_is_no_author_sees_the_plan_and_decides_and_saves_nothing(who: str) -> None:
    page = press(opened(SinkReader(row(0, Decision.COMMIT), UNEXPLAINED), who=who), ASK)

    assert next(button for button in page.main.button if button.label == "Decide").disabled
    assert "Deciding is off" in said(page)
    assert off(page) == {"save": True, "submit": True}


def test_a_job_whose_sinks_cluster_is_not_stated_is_only_moved() -> None:
    page = opened(SinkReader(stated=False), None)

    assert not [each for each in page.selectbox if each.key == "does"]
    assert "There is no comparison to draft from" in said(page)
