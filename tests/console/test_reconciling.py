"""Counting a whole topic, from the Compare page."""

from __future__ import annotations

import csv
import io
import threading
from dataclasses import replace

from offsetwise.console.explore import reconciliation
from offsetwise.console.reader import Reader
from offsetwise.console.widgets import downloads, escaping, table
from offsetwise.errors import SparkError
from offsetwise.progress import no_progress
from tests.console import builders
from tests.console.conftest import COMPARE, OpenPage, settle, words
from tests.console.readers import COUNTED, ValueReader
from tests.with_cases import with_cases

SAMPLE = "orders-to-new (sample)"


def test_nothing_is_counted_before_a_person_asks(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    assert reader.calls["reconciliation"] == 0
    page.button(key="reconcile-now").click().run()
    settle(page)
    assert reader.calls["reconciliation"] == 1
    assert "1,580 records are on both clusters" in words(page)
    assert "20 are missing, 7 are there too often and 3 are its own" in words(page)


def test_each_topic_is_counted_on_its_own_once_and_a_link_names_it(open_page: OpenPage) -> None:
    reader = ValueReader()
    page = open_page(reader, COMPARE, count="payments")
    assert "payments: 1,580 records" in words(page).replace("\\", "")
    page.selectbox(key="count").select("orders").run()
    assert "orders: 1,580 records" in words(page).replace("\\", "")
    page.selectbox(key="count").select("payments").run()
    assert "payments: 1,580 records" in words(page).replace("\\", "")
    assert reader.calls["reconciliation"] == 2


def test_a_failure_is_told_and_the_rest_of_the_page_stays(open_page: OpenPage) -> None:
    failed = SparkError("Spark: expected to read the topic, the job was lost.", fix="Look at Spark's log.")
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"), counted=failed)
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    page.button(key="reconcile-now").click().run()
    settle(page)
    assert "the job was lost" in words(page)
    assert "Look at Spark" in words(page)
    assert page.metric[0].value == "8"


def test_a_count_can_be_stopped_and_nothing_is_shown_of_it(open_page: OpenPage) -> None:
    gate = threading.Event()
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"), count_gate=gate)
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    page.button(key="reconcile-now").click().run()
    page.button(key="reconcile-stop").click().run()
    settle(page)
    assert "records are on both clusters" not in words(page)
    assert not page.exception
    gate.set()
    page.button(key="reconcile-now").click().run()
    settle(page)
    assert "1,580 records are on both clusters" in words(page)
    assert reader.calls["reconciliation"] == 2


def test_the_sample_has_every_topic_of_its_comparisons_counted() -> None:
    reader = Reader(())
    subjects = reader.offered()[0].subjects
    topics = {row.topic for each in subjects for row in reader.comparison(SAMPLE, each, no_progress).partitions}
    counted = {topic: reader.reconciliation(SAMPLE, topic, no_progress) for topic in topics}
    assert counted["orders"].agrees
    assert {made.old_topic for made in counted.values()} == topics


@with_cases("name", builders.HOSTILE)
def test_a_hostile_name_cannot_run_in_the_download(name: str) -> None:
    made = replace(COUNTED, old_topic=name)
    written = downloads.csv(table.frame(reconciliation.ranges(made), made.differences, file=True))
    rows = list(csv.DictReader(io.StringIO(written.decode())))
    assert rows[0]["topic"] == escaping.cell(name)
    assert [(row["from"], row["to"]) for row in rows] == [("300", "320"), ("900", "1000")]
