"""The Compare page, run as Streamlit runs it."""

from __future__ import annotations

import csv
import io
import threading
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from offsetwise.console.explore import compare_table
from offsetwise.errors import ClusterAuthError, ClusterUnreachableError, ConnectorError, OffsetwiseError, StorageError
from offsetwise.findings.migration import cluster_unclear
from offsetwise.model import BelongsTo, Finding, LogRange, Method, RawReuse, RawVerdict, RestartPoint
from offsetwise.plugins.kinesis.stream.spec import LATEST, TRIM_HORIZON, after, in_shards
from offsetwise.wording.verdicts import METHOD
from tests.console import builders
from tests.console.conftest import COMPARE, OpenPage, answer_at_look, figures, settle, words
from tests.console.readers import ValueReader
from tests.with_cases import with_cases

DOWN = ClusterUnreachableError("Cluster 'new': expected an answer within 20 s, none came.", fix="Start the broker.")


def evidence(page: AppTest) -> str:
    return next(each.value for each in page.header if each.value.startswith("Evidence"))


def test_the_answer_stands_first_and_says_at_least(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE)
    assert not page.exception
    assert page.error[0].value.startswith("**5 of 8 partitions would go wrong**")
    assert "at least 200 records never read" in page.error[0].value
    assert list(figures(page).items()) == [
        ("Partitions", "8"),
        ("Proven", "5"),
        ("Bounded", "1"),
        ("Unknown", "2"),
        ("Skipped if unedited", "≥ 200"),
    ]


def test_cards_have_the_colour_and_the_sign_of_what_they_say(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE)
    shown = {card.label: (card.value, card.proto.icon) for card in page.metric}
    assert shown == {
        "Partitions": ("8", ""),
        "Proven": (":green[5]", ":material/check_circle:"),
        "Bounded": (":orange[1]", ":material/warning:"),
        "Unknown": (":gray[2]", ":material/help:"),
        "Skipped if unedited": (":red[≥ 200]", ":material/error:"),
    }


def test_a_card_with_nothing_to_report_has_no_colour(open_page: OpenPage) -> None:
    proven = tuple(row for row in builders.comparison().partitions if row.exactness.proven)
    page = open_page(ValueReader({"orders": builders.comparison(proven)}), COMPARE, migration="orders")
    assert not page.exception
    assert {card.label: (card.value, card.proto.icon) for card in page.metric}["Unknown"] == ("0", "")


def test_what_the_new_offsets_cost_is_said_of_those_that_were_counted_only(open_page: OpenPage) -> None:
    rows = builders.comparison().partitions
    counted = [row for row in rows if row.replay is not None and row.skip is not None]
    assert 0 < len(counted) < len(rows)
    replay = sum(row.replay or 0 for row in counted)
    page = open_page(ValueReader(), COMPARE)
    assert f"read twice: ≤ {replay:,};" in words(page).replace("\\", "")
    assert f"in the {len(counted)} of 8 partitions that were counted" in words(page)
    assert "(#evidence)" in words(page)
    assert "8 partitions. Select a row to see its proof." in words(page)


def test_it_is_said_which_cluster_the_positions_belong_to_and_why(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE)
    assert "The positions are those of the old cluster: All positions lie inside the old cluster's logs" in words(
        page
    ).replace("\\", "")


def test_positions_of_nobody_knows_which_cluster_are_said_to_be_open_with_what_to_do(open_page: OpenPage) -> None:
    unclear = BelongsTo(cluster=None, reason="Every position lies inside both logs.")
    finding = cluster_unclear.finding("The positions may come from either cluster.")
    made = replace(builders.comparison(), belongs_to=unclear, findings=(finding,))
    told = words(open_page(ValueReader({"orders": made}), COMPARE)).replace("\\", "")
    assert "? Which cluster they belong to is open: Every position lies inside both logs." in told
    assert "CLUSTER_UNCLEAR" in told
    assert finding.remedy in told


def test_the_worst_row_is_opened_with_its_proof(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE)
    assert evidence(page) == "Evidence · orders\\-0"
    assert "**Why 950** · by content :" in words(page)
    assert "911, which is 39 offsets earlier" in words(page)
    assert "Reading would begin behind 100 unread records" in words(page)
    assert "| mirror-sync | 911 | 951 |" in words(page)
    neighbours = page.dataframe[1].value
    assert neighbours["old offset"].tolist() == [1047, 1048, 1049, 1050, 1051, 1052]
    assert neighbours["for the job"].tolist()[2:4] == ["read", "unread, next"]


@with_cases("method", [each for each in Method if each is not Method.NONE])
def test_what_a_place_was_derived_from_is_said_in_the_evidence_and_in_the_csv(
    open_page: OpenPage, method: Method
) -> None:
    rows = (builders.partition(method=method),)
    page = open_page(ValueReader({"orders": builders.comparison(rows)}), COMPARE)
    assert f"**Why 950** · {METHOD[method]} :" in words(page)
    (row,) = csv.DictReader(io.StringIO(compare_table.csv(rows).decode()))
    assert row["method"] == method.value


def test_a_link_opens_the_row_it_names(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE, row="audit-0")
    assert evidence(page) == "Evidence · audit\\-0"
    assert "**Why there is no answer**" in words(page)


def test_choosing_a_row_reads_nothing(open_page: OpenPage) -> None:
    reader = ValueReader()
    page = open_page(reader, COMPARE)
    before = dict(reader.calls)
    page.selectbox(key="row").select("payments-0").run()
    page.multiselect(key="topic").select("payments").run()
    page.selectbox(key="order").select("Worst first").run()
    assert evidence(page) == "Evidence · payments\\-0"
    assert dict(reader.calls) == before == {"offered": 1, "recorded": 1, "reconciliation": 1}


def test_filters_come_from_the_url(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE, unedited=["other records", "unknown"])
    assert sorted(page.dataframe[0].value["topic"]) == ["audit", "clicks", "orders"]


def test_a_filter_that_nothing_passes_says_so(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE, topic=["payments"], exactness=["bounded"])
    assert "No partition passes these filters." in words(page)
    assert not page.exception


@with_cases(
    "parameters",
    [
        {"migration": "nobody"},
        {"of": "checkpoint nothing"},
        {"row": "<img src=x onerror=alert(1)>"},
        {"topic": ["no such topic"]},
        {"unedited": ["everything is fine"]},
        {"rows": "9751–10000"},
        {"order": "; drop table"},
        {"chart": "../../etc/passwd"},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_unknown_values_in_the_url_are_ignored(open_page: OpenPage, parameters: dict[str, str | list[str]]) -> None:
    page = open_page(ValueReader(), COMPARE, **parameters)
    assert not page.exception
    assert page.metric[0].value == "8"
    assert evidence(page) == "Evidence · orders\\-0"


def test_ten_thousand_partitions_come_in_pages_behind_a_heat_map(open_page: OpenPage) -> None:
    reader = ValueReader({"orders": builders.comparison(builders.many_rows(10_000))})
    page = open_page(reader, COMPARE, order="By name")
    assert not page.exception
    tabs = {tab.label: tab for tab in page.tabs}
    assert next(iter(tabs)) == "Every partition"
    assert tabs["Where each partition resumes"].header[0].value == "Where the old numbers would land"
    assert len(page.dataframe[0].value) == 250
    page.selectbox(key="rows").select("9751–10000").run()
    assert page.dataframe[0].value["p"].tolist()[-1] == 249
    page.selectbox(key="chart").select("topic-007").run()
    tabs = {tab.label: tab for tab in page.tabs}
    assert tabs["Where each partition resumes"].header[1].value == "Where each partition of topic\\-007 resumes"


@with_cases("name", builders.HOSTILE)
def test_a_hostile_name_stays_text_on_every_block(open_page: OpenPage, name: str) -> None:
    row = f"{name}-0"
    page = open_page(ValueReader({"orders": builders.comparison(builders.hostile_rows())}), COMPARE)
    page.session_state["row"] = row
    page.run()
    assert not page.exception
    assert "<img" not in words(page).replace("\\<img", "")
    assert "\u202e" not in words(page)
    assert not any(topic.startswith("=") for topic in page.dataframe[0].value["topic"])


def test_a_live_migration_is_read_only_when_a_person_asks(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    assert reader.calls["compare"] == 0
    assert "Nothing was read yet." in words(page)
    page.button(key="compare-now").click().run()
    assert not page.exception
    assert page.metric[0].value == "8"
    page.selectbox(key="row").select("orders-1").run()
    assert reader.calls["compare"] == 1


def test_a_comparison_in_memory_opens_from_a_link_without_reading(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    again = page.switch_page(COMPARE)
    again.query_params["migration"] = "orders-to-new"
    again.run()
    assert again.metric[0].value == "8"
    assert reader.calls["compare"] == 1


def test_two_sessions_share_one_reading_that_is_under_way(open_page: OpenPage) -> None:
    gate = threading.Event()
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"), gate=gate)
    page = open_page(reader, COMPARE, migration="orders-to-new")
    threading.Timer(0.5, gate.set).start()
    page.button(key="compare-now").click().run()
    assert page.metric[0].value == "8"
    assert reader.calls["compare"] == 1


@with_cases("look", [1, 2])
def test_a_comparison_that_ends_while_the_page_is_drawn_stands_under_its_own_caption(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    answer_at_look(monkeypatch, "comparison", look)
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    settle(page)
    assert page.metric[0].value == "8"
    assert "not read yet" not in words(page)


def test_a_cluster_that_is_down_shows_its_error_and_keeps_the_checkpoint(open_page: OpenPage) -> None:
    reader = ValueReader(live=DOWN)
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    assert not page.exception
    assert "The cluster does not answer" in page.error[0].value
    assert "Start the broker" in words(page)
    assert page.header[-1].value == "What the checkpoint says on its own"
    assert page.dataframe[-1].value["old offset"].tolist()[0] == 1050
    reader.answer_with(builders.comparison(migration="orders-to-new"))
    page.button(key="compare-button").click().run()
    assert page.metric[0].value == "8"


def test_a_failure_keeps_the_last_good_comparison(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison(migration="orders-to-new"))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    reader.answer_with(DOWN)
    page.button(key="compare-again").click().run()
    assert "UTC is still shown." in words(page)
    assert page.metric[0].value == "8"


@with_cases(
    ("error", "heading"),
    [
        (DOWN, "The cluster does not answer"),
        (ClusterAuthError("Cluster 'new': the broker refused.", fix="Grant Describe."), "Not permitted"),
        (
            ConnectorError("Spark's Kafka connector: found no copy. No record was read.", fix="Connect once."),
            "This could not be read",
        ),
        (
            StorageError("/data/orders/offsets: found access refused. It was not read.", fix="Give read access."),
            "This could not be read",
        ),
    ],
    ids=["silence", "refusal", "connector", "unreadable"],
)
def test_what_stops_a_comparison_is_told_apart_and_with_what_to_do(
    open_page: OpenPage, error: OffsetwiseError, heading: str
) -> None:
    page = open_page(ValueReader(live=error), COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    assert not page.exception
    told = page.error[0].value.replace("\\", "")
    assert told == f"**{heading}**  \n{error.problem}  \n**What to do:** {error.fix}"


@with_cases("finding", builders.misfits().findings, ids=lambda finding: finding.code)
def test_a_new_topic_that_does_not_fit_is_told_with_its_remedy(open_page: OpenPage, finding: Finding) -> None:
    page = open_page(ValueReader({"orders": builders.misfits()}), COMPARE, row=f"{finding.topic}-0")
    told = words(page).replace("\\", "")
    assert finding.code in told
    assert f"{finding.message}  \n**What to do:** {finding.remedy}" in told


def test_an_error_of_no_kind_of_ours_shows_no_traceback_and_no_values(open_page: OpenPage) -> None:
    reader = ValueReader(live=RuntimeError("password=canary"))
    page = open_page(reader, COMPARE, migration="orders-to-new")
    page.button(key="compare-now").click().run()
    assert not page.exception
    assert "canary" not in words(page)
    assert "Traceback" not in words(page)


def test_no_partition_is_an_answer_and_no_error(open_page: OpenPage) -> None:
    page = open_page(ValueReader({"orders": builders.comparison(())}), COMPARE)
    assert not page.exception
    assert words(page).count("partition to compare.") == 1


def test_both_answers_are_offered_where_records_of_others_stand_below_the_place(open_page: OpenPage) -> None:
    page = open_page(ValueReader({"orders": builders.comparison((builders.with_others_below(),))}), COMPARE)
    told = words(page).replace("\\", "")
    assert "- **940**, the lower bound: no record that was counted is missed, at most 8 records read twice." in told
    assert (
        "- **950**, the counted cut: no record of the old log is skipped and none read twice; 2 records that the old "
        "log does not explain never read." in told
    )


def test_a_link_leads_on_to_draft_what_is_shown(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE)
    links: list[Any] = [getattr(each, "proto") for each in page.get("page_link")]  # noqa: B009 - untyped
    (link,) = (each for each in links if "Draft" in each.label)
    assert (link.label, link.page) == ("**Draft a plan from this**", "draft")
    assert dict(parse_qsl(link.query_string)) == {"migration": "sample", "of": "checkpoint orders"}


def test_rows_from_shards_to_partitions_are_shown(open_page: OpenPage) -> None:
    old, shards = in_shards({0: after(4968), 1: after(5762)}), LogRange(log_start=TRIM_HORIZON, lso=LATEST, hw=LATEST)
    rows = tuple(
        replace(
            builders.partition(number=number, raw=RawReuse(verdict=RawVerdict.UNKNOWN)),
            old_offset=old,
            old=shards,
            lag_old=None,
            restart=(RestartPoint(batch=None, old=old, new=950),),
        )
        for number in range(3)
    )
    page = open_page(ValueReader({"orders": builders.comparison(rows)}), COMPARE)

    assert not page.exception
    tables = [one.value.to_string() for one in page.dataframe]
    assert any("2 shards, 0 at seq:4968" in one and "950" in one for one in tables)
    for told in ("shard 1: seq:5762, lag not asked", "- 950"):
        assert told in words(page).replace("\\", "")
