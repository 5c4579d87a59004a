"""The Clusters page, run as Streamlit runs it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.clusters.reading import MinimumAcls, ReadCluster
from offsetwise.clusters.retention import ReaderPosition
from offsetwise.console import answers
from offsetwise.console.answers import CachedAnswer
from offsetwise.console.explore.clusters import mirror, range_chart, retention, topics
from offsetwise.console.explore.clusters.range_chart import lanes_of, ranges, takeaway
from offsetwise.console.explore.clusters.summary import View, view
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import downloads, table
from offsetwise.console.widgets.palette import LIGHT
from offsetwise.errors import ClusterAuthError, ClusterUnreachableError
from offsetwise.model import Cluster, Problem, TopicPartition
from offsetwise.progress import Progress
from offsetwise.streams.access import AclCommand, Granted, Permissions, Resource, Step, StepName, StepResult
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.report import LogEnds, SinkTransactions
from tests.clusters.values import TAKEN_MS, log, new, old, topic
from tests.console import builders, clusters_of_tests
from tests.console.conftest import APP, OpenPage, answer_at_look, words
from tests.console.readers import ORDERS, ValueReader
from tests.plugins.kafka.test_connection import closed_port, listening, silence
from tests.transactions.settling import found, row
from tests.transactions.test_upgrade import broker, facts, judged
from tests.with_cases import with_cases

CLUSTERS = "pages/explore/clusters.py"
DOWN = ClusterUnreachableError("Cluster 'new': expected an answer within 20 s, none came.", fix="Start the broker.")
LIVE = "orders-to-new"


def reader(*, live: bool = False) -> ValueReader:
    made = ValueReader(live=builders.comparison() if live else None)
    made.clusters |= clusters_of_tests.reference()
    return made


def settled(page: AppTest, *, but: str = "") -> AppTest:
    """Run the page again, as a browser does, until nothing is being read any more (or only what is waited for)."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if not any(status.label for status in page.status if not but or but not in status.label):
            return page
        time.sleep(0.05)
        page.run()
    raise AssertionError(words(page))


def table_with(page: AppTest, column: str) -> pd.DataFrame:
    """The first table of the page that has this column."""
    return next(each.value for each in page.dataframe if column in each.value.columns)


def topic_rows(page: AppTest) -> pd.DataFrame:
    return table_with(page, "held old")


def test_both_clusters_are_named_with_id_and_time(open_page: OpenPage) -> None:
    page = open_page(reader(), CLUSTERS)
    assert not page.exception
    assert "cluster-id-old" in words(page)
    assert words(page).count("read 2026\\-01\\-02 14\\:02\\:11 UTC") == 3
    assert [code.value for code in page.code][:2] == ["cluster-id-old", "cluster-id-new"]
    assert "2 topics · 3 partitions · 1 group asked about" in words(page)


def test_topics_stand_side_by_side_under_both_names_with_what_differs(open_page: OpenPage) -> None:
    page = open_page(reader(), CLUSTERS)
    rows = topic_rows(page)
    assert rows["old topic"].tolist() == ["clicks", "orders"]
    assert rows["new topic"].tolist() == ["old.clicks", "orders"]
    assert rows["configuration"].tolist() == ["✓ same", "▲ 1 difference"]
    assert rows["retention"].tolist() == ["7 d", "7 d → 1 d"]
    assert rows["held old"].tolist() == [1100, 2180]
    assert page.warning[0].value.startswith("**1 of 2 topics differ**")
    differing = table_with(page, "what it means")
    assert differing["what it means"].tolist() == [
        "The new cluster lets records go earlier: a position may fall below its log start."
    ]


def test_log_start_lso_and_hw_stand_in_the_data_of_the_chart(open_page: OpenPage) -> None:
    page = open_page(reader(), CLUSTERS)
    rows = table_with(page, "old log start")
    assert rows["old log start"].tolist() == [100, 100, 100]
    assert rows["old LSO"].tolist() == [1200, 1200, 1170]
    assert rows["new HW"].tolist() == [1200, 1100, 1080]
    assert rows["remark"].tolist() == ["", "", "▲ open transaction on old"]


def test_groups_show_both_offsets_and_a_copied_number_is_pointed_out(open_page: OpenPage) -> None:
    page = open_page(reader(), CLUSTERS)
    rows = table_with(page, "hint")
    assert (rows["old offset"][0], rows["new offset"][0], rows["MirrorMaker says"][0]) == (1050, 1050, 950)
    assert rows["hint"][0].startswith("▲ 100 past MirrorMaker's answer, the old number as it is")
    states = table_with(page, "state old")
    assert states["state old"].tolist() == ["Empty"]


def test_share_groups_and_applications_of_kafka_streams_are_named_and_shown_with_their_offsets(
    open_page: OpenPage,
) -> None:
    made = reader()
    before, after = clusters_of_tests.reference()[Cluster.OLD], clusters_of_tests.reference()[Cluster.NEW]
    groups = (*before.snapshot.groups, *clusters_of_tests.other_groups())
    made.clusters = {Cluster.OLD: replace(before, snapshot=replace(before.snapshot, groups=groups)), Cluster.NEW: after}

    page = open_page(made, CLUSTERS)

    assert not page.exception
    rows = table_with(page, "kind").set_index("group")
    assert rows["kind"].to_dict() == {
        "counting": "Kafka Streams",
        "emails": "share group",
        "orders-etl": "consumer group",
    }
    # Log ends 1,200 and 1,180 minus start offsets; no bound is stated of groups that commit.
    assert rows["lag old, at most"]["emails"] == 100
    assert rows["lag old, at most"].isna().to_dict() == {"counting": True, "emails": False, "orders-etl": True}
    assert rows["committed old"].to_dict() == {"counting": 2, "emails": 2, "orders-etl": 1}
    assert rows["committed new"].isna()["emails"]
    page = page.selectbox(key="group").set_value("emails").run()
    begins = table_with(page, "hint")
    assert begins["old offset"].tolist() == [1150, 1130]
    assert set(begins["hint"]) == {"nothing committed on new"}


def test_mirror_health_names_heartbeat_sync_and_what_could_not_be_decoded(open_page: OpenPage) -> None:
    page = open_page(reader(), CLUSTERS)
    assert "✓ alive" in words(page)
    assert "last heartbeat **2026-01-02 14:02:08 UTC**, 3 s before" in words(page)
    assert "last sync written **2026-01-02 14:02:06 UTC**, 5 s before" in words(page)
    assert "**2 records of MirrorMaker's topics could not be decoded:**" in words(page)
    rows = table_with(page, "mirrored up to")
    assert rows["mirrored up to"].tolist() == [1149]
    assert rows["verdict"].tolist() == ["✓ level"]


def test_the_sample_shows_its_recorded_snapshots_and_the_acls_it_would_take(open_page: OpenPage) -> None:
    page = open_page(Reader(()), CLUSTERS)
    assert not page.exception
    assert "payments" in topic_rows(page)["old topic"].tolist()
    assert "no connection can be tested" in words(page)
    commands = "\n".join(code.value for code in page.code)
    assert "kafka-acls.sh --bootstrap-server 127.0.0.1:19092" in commands
    assert "--topic=orders" in commands
    assert "--topic=mm2-offset-syncs.new.internal" in commands
    assert "Write" not in commands


def test_filters_come_from_the_url_and_read_nothing(open_page: OpenPage) -> None:
    asked = reader()
    page = open_page(asked, CLUSTERS, topic=["clicks"])
    assert topic_rows(page)["old topic"].tolist() == ["clicks"]
    before = dict(asked.calls)
    page.multiselect(key="topic").unselect("clicks").run()
    page.toggle(key="differences").set_value(True).run()
    assert topic_rows(page)["old topic"].tolist() == ["orders"]
    assert dict(asked.calls) == before


def test_a_filter_that_nothing_passes_says_so(open_page: OpenPage) -> None:
    page = open_page(reader(), CLUSTERS, topic=["clicks"], differences="true")
    assert "No topic passes these filters." in words(page)
    assert not page.exception


@with_cases(
    "parameters",
    [
        {"migration": "nobody"},
        {"topic": ["<img src=x onerror=alert(1)>"]},
        {"differences": "perhaps"},
        {"group": "../../etc/passwd"},
        {"rows": "9751–10000"},
        {"chart": "; drop table"},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_unknown_values_in_the_url_are_ignored(open_page: OpenPage, parameters: dict[str, str | list[str]]) -> None:
    page = open_page(reader(), CLUSTERS, **parameters)
    assert not page.exception
    assert len(topic_rows(page)) == 2


def test_five_hundred_topics_come_in_pages_and_ten_thousand_partitions_by_topic(open_page: OpenPage) -> None:
    asked = ValueReader()
    asked.clusters |= clusters_of_tests.large(500, 20)
    page = open_page(asked, CLUSTERS)
    assert not page.exception
    assert page.warning[0].value.startswith("**50 of 500 topics differ**")
    assert len(topic_rows(page)) == 250
    page.selectbox(key="rows").select("251–500").run()
    assert topic_rows(page)["old topic"].tolist()[-1] == "topic-499"
    page.selectbox(key="chart").select("topic-007").run()
    assert table_with(page, "old log start")["old topic"].unique().tolist() == ["topic-007"]
    began = time.monotonic()
    page.toggle(key="differences").set_value(True).run()
    assert time.monotonic() - began < 3
    assert len(topic_rows(page)) == 50


def test_hostile_names_stay_text_in_every_block(open_page: OpenPage) -> None:
    asked = ValueReader()
    asked.clusters |= clusters_of_tests.hostile(builders.HOSTILE)
    page = open_page(asked, CLUSTERS)
    assert not page.exception
    code = [each.value for each in page.code]  # drawn as it is, by an element that knows no markup
    said = "\n".join(line for line in words(page).splitlines() if line not in code)
    assert "<img" not in said.replace("\\<img", "")
    assert "\u202e" not in words(page) + "".join(each.value.to_string() for each in page.dataframe)
    for each in page.dataframe:
        for column in each.value.columns:
            assert not any(str(value).startswith("=") for value in each.value[column]), column


def test_hostile_names_are_neutralised_in_downloads_and_charts() -> None:
    read = clusters_of_tests.hostile(builders.HOSTILE)
    shown = viewed(read)
    written = downloads.csv(table.frame(topics.topics(shown), shown.pairs, file=True)) + downloads.csv(
        table.frame(range_chart.LANES, lanes_of(shown.pairs), file=True)
    )
    cells = [cell for line in written.decode().splitlines() for cell in line.split(",")]
    assert not any(cell.strip('"').startswith(("=", "+", "@")) for cell in cells)
    figure = ranges(lanes_of(shown.pairs), LIGHT)
    assert not any("<img" in text for text in figure.layout.yaxis.ticktext)
    assert "\u202e" not in takeaway(lanes_of(shown.pairs))


def viewed(read: Mapping[Cluster, ReadCluster]) -> View:
    st.cache_resource.clear()
    now = datetime.now(UTC)
    return view(*(CachedAnswer(id=number, at=now, value=value) for number, value in enumerate(read.values())))


def test_what_a_cluster_holds_that_was_not_read_is_unknown_and_not_absent() -> None:
    shown = view(CachedAnswer(id=1, at=datetime.now(UTC), value=clusters_of_tests.reference()[Cluster.OLD]), None)
    figure = ranges(lanes_of(shown.pairs), LIGHT, both_read=False)
    said = [note.text for note in figure.layout.annotations if note.text.startswith("?")]
    assert said == ["? new: not read"] * 3
    assert [one.hint for one in mirror.commits(shown, "orders-etl")] == ["? new cluster not read"]


def test_ranges_above_2_to_53_keep_every_digit() -> None:
    large = 9_007_199_254_740_993
    shown = viewed(
        {
            Cluster.OLD: old(topic("orders", [log(0, large - 10, large)])),
            Cluster.NEW: new(topic("orders", [log(0, large - 11, large - 1)])),
        }
    )
    figure = ranges(lanes_of(shown.pairs), LIGHT)
    notes = [note.text for note in figure.layout.annotations]
    assert notes == [f"{each:,}" for each in (large - 10, large, large - 11, large - 1)]
    assert figure.data[0].base[0] == pytest.approx(1 / 11)


def test_a_live_migration_is_read_only_when_a_person_asks(open_page: OpenPage) -> None:
    asked = reader(live=True)
    page = open_page(asked, CLUSTERS, migration=LIVE)
    assert "Nothing was read yet." in words(page)
    assert not any(call.startswith("cluster") for call in asked.calls)
    page.button(key="read-both").click().run()
    settled(page)
    assert not page.exception
    assert topic_rows(page)["old topic"].tolist() == ["clicks", "orders"]
    assert (asked.calls["cluster old"], asked.calls["cluster new"]) == (1, 1)


@with_cases("look", range(1, 5))
def test_an_answer_that_comes_while_the_page_is_drawn_is_shown(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, look: int
) -> None:
    answer_at_look(monkeypatch, "cluster", look)
    page = open_page(reader(live=True), CLUSTERS, migration=LIVE)
    page.button(key="read-both").click().run()
    settled(page)
    assert topic_rows(page)["old topic"].tolist() == ["clicks", "orders"]
    assert "not read" not in words(page)


def test_one_cluster_down_leaves_the_other_whole_and_says_what_to_do(open_page: OpenPage) -> None:
    asked = reader(live=True)
    asked.clusters[Cluster.NEW] = DOWN
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="read-both").click().run()
    settled(page)
    assert not page.exception
    (error,) = page.error
    assert "The cluster does not answer" in error.value
    assert "**What to do:** Start the broker" in error.value, "one box says what is the matter and what to do"
    assert "**The new cluster was not read.**" in words(page)
    rows = topic_rows(page)
    assert rows["configuration"].tolist() == ["? other cluster not read"] * 2
    assert rows["held new"].isna().all()


def test_a_refusal_is_told_apart_from_silence(open_page: OpenPage) -> None:
    asked = reader(live=True)
    asked.clusters[Cluster.OLD] = ClusterAuthError("Cluster 'old': the broker refused.", fix="Grant Describe.")
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="read-both").click().run()
    settled(page)
    assert "Not permitted" in page.error[0].value
    assert topic_rows(page)["new topic"].tolist() == ["old.clicks", "orders"]


def test_a_failure_keeps_the_last_good_reading_with_its_time(open_page: OpenPage) -> None:
    asked = reader(live=True)
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="read-both").click().run()
    settled(page)
    asked.clusters[Cluster.NEW] = DOWN
    page.button(key="cluster-new-again").click().run()
    settled(page)
    assert "What was read at 20" in words(page)
    assert len(topic_rows(page)) == 2
    asked.clusters |= clusters_of_tests.reference()
    page.button(key="cluster-new-button").click().run()
    settled(page)
    assert "does not answer" not in words(page)


def test_a_cluster_that_takes_its_time_does_not_hold_up_the_other(open_page: OpenPage) -> None:
    asked = reader(live=True)
    asked.cluster_gates[Cluster.NEW] = threading.Event()
    page = open_page(asked, CLUSTERS, migration=LIVE)
    try:
        page.button(key="read-both").click().run()
        settled(page, but="new cluster")
        assert "Reading the new cluster …" in [status.label for status in page.status]
        assert topic_rows(page)["old topic"].tolist() == ["clicks", "orders"]
    finally:
        asked.cluster_gates[Cluster.NEW].set()
    settled(page)
    assert topic_rows(page)["configuration"].tolist() == ["✓ same", "▲ 1 difference"]


MIGRATION = """
name: two-sockets
source: {{name: prod-a, properties: {{bootstrap.servers: "127.0.0.1:{down}"}}}}
target: {{name: prod-b, properties: {{bootstrap.servers: "127.0.0.1:{silent}"}}}}
"""


def test_a_closed_port_and_a_silent_socket_are_told_apart_by_reading_and_by_the_connection_test(
    open_page: OpenPage, tmp_path: Path
) -> None:
    with listening(silence) as silent:
        path = tmp_path / "migration.yaml"
        path.write_text(MIGRATION.format(down=closed_port(), silent=silent))
        page = open_page(Reader((path,)), CLUSTERS, migration="two-sockets")
        page.button(key="read-both").click().run()
        page.button(key="connection-old-now").click().run()
        settled(page, but="new cluster")
        assert "Reading the new cluster …" in [status.label for status in page.status]
        assert "**What to do:** Check that the broker runs" in words(page)
        assert "**The step “connect” failed**" in words(page)
        assert "refused the connection\\: nothing listens there" in words(page)
        assert not page.exception


def test_one_cluster_under_two_names_is_refused_in_words(open_page: OpenPage) -> None:
    asked = ValueReader()
    asked.clusters |= {
        Cluster.OLD: old(topic(), cluster_id="the-same"),
        Cluster.NEW: new(topic(), cluster_id="the-same"),
    }
    page = open_page(asked, CLUSTERS)
    assert not page.exception
    assert "expected two clusters, found the cluster id" in page.error[0].value.replace("\\", "")
    assert not any("held old" in each.value.columns for each in page.dataframe)


def test_a_topic_that_the_new_cluster_lacks_is_the_answer(open_page: OpenPage) -> None:
    asked = ValueReader()
    asked.clusters |= {Cluster.OLD: old(topic("orders")), Cluster.NEW: new()}
    page = open_page(asked, CLUSTERS)
    assert "has no counterpart on the new one" in page.error[0].value
    assert topic_rows(page)["configuration"].tolist() == ["! not on new"]


def test_problems_of_a_partial_reading_are_named(open_page: OpenPage) -> None:
    asked = reader()
    read = clusters_of_tests.reference()[Cluster.OLD]
    problem = Problem(code="PARTITION_UNREADABLE", message="2 partitions were not read.", fix="Check the brokers.")
    asked.clusters[Cluster.OLD] = replace(read, snapshot=replace(read.snapshot, problems=(problem,)))
    page = open_page(asked, CLUSTERS)
    assert "2 partitions were not read\\. Check the brokers\\." in words(page)


def test_the_connection_test_shows_every_step_with_its_remedy(open_page: OpenPage) -> None:
    asked = reader(live=True)
    asked.steps = (
        Step(name=StepName.RESOLVE, state=StepResult.OK, said="broker-1:9092 is 10.0.0.1.", took_ms=3),
        Step(name=StepName.METADATA, state=StepResult.OK, said="2 brokers.", fix="Correct advertised.listeners."),
        Step(
            name=StepName.CONNECT,
            state=StepResult.FAILED,
            said="broker-1:9092 refused the connection.",
            fix="Start the broker.",
            took_ms=4,
        ),
        Step(name=StepName.TLS, state=StepResult.SKIPPED, said="Not tried, because the step “connect” failed."),
    )
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="connection-old-now").click().run()
    settled(page)
    assert "**The step “connect” failed** after 7 ms." in words(page)
    assert ":green[✓ ok] **resolve**" in words(page)
    assert ":orange[▲ ok, with a remark] **metadata**" in words(page)
    assert ":red[! failed] **connect**" in words(page)
    assert ":gray[– skipped] **TLS**" in words(page)
    assert "**What to do:** Start the broker" in words(page)


def test_a_user_that_can_write_is_warned_about_with_every_operation(open_page: OpenPage) -> None:
    asked = reader(live=True)
    asked.granted = Permissions(
        cluster=Cluster.OLD,
        user="reader",
        authorizer=True,
        granted=(
            Granted(resource=Resource.CLUSTER, name="", operations=("ALTER", "DESCRIBE")),
            Granted(resource=Resource.TOPIC, name="orders", operations=("DESCRIBE", "READ", "WRITE")),
            Granted(resource=Resource.GROUP, name="orders-etl", operations=("DESCRIBE", "READ")),
        ),
    )
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="permissions-old-now").click().run()
    settled(page)
    said = words(page).replace("\\", "")
    assert "**The user 'reader' can write.**" in said
    assert "- the cluster: ALTER" in said
    assert "- topic orders: WRITE" in said
    assert "- group orders-etl: READ (may commit offsets)" in said
    assert "**Missing for reading:**\n- topic orders: DESCRIBE_CONFIGS" in said


def test_a_cluster_without_acls_is_told_as_such(open_page: OpenPage) -> None:
    asked = reader(live=True)
    everything = Granted(resource=Resource.TOPIC, name="orders", operations=("READ", "WRITE"))
    asked.granted = Permissions(cluster=Cluster.OLD, user=None, authorizer=False, granted=(everything,))
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="permissions-new-now").click().run()
    settled(page)
    assert "**This cluster checks no ACLs:**" in words(page)


def test_the_acls_to_copy_stand_as_commands(open_page: OpenPage) -> None:
    asked = reader()
    asked.acls[Cluster.OLD] = MinimumAcls(
        cluster=Cluster.OLD,
        topics=("orders",),
        commands=(AclCommand(purpose="Topics to be compared.", command="kafka-acls.sh --add --topic=orders"),),
        unread=("payments",),
    )
    page = open_page(asked, CLUSTERS)
    assert "kafka-acls.sh --add --topic=orders" in [code.value for code in page.code]
    assert "These checkpoints could not be read, so their topics are missing below: payments" in words(page)


def test_retention_names_its_method_and_the_time(open_page: OpenPage) -> None:
    asked = reader(live=True)
    asked.stand = (
        ReaderPosition(
            of="group orders-etl",
            partition=TopicPartition("orders", 0),
            offset=1050,
            record_ms=TAKEN_MS,
        ),
    )
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="read-both").click().run()
    settled(page)
    page.button(key="standings-old-now").click().run()
    settled(page)
    rows = table_with(page, "reached from (UTC)")
    assert rows["reached from (UTC)"].tolist() == ["2026-01-09 14:02:11.000"]
    assert rows["method"].tolist() == ["record time + retention.ms"]


def test_two_readings_give_the_rate_at_which_retention_comes_near(open_page: OpenPage) -> None:
    asked = reader(live=True)
    retention._readings.clear()
    page = open_page(asked, CLUSTERS, migration=LIVE)
    page.button(key="read-both").click().run()
    settled(page)
    assert table_with(page, "reached from (UTC)")["method"].tolist() == ["unknown"]
    read = asked.clusters[Cluster.OLD]
    assert isinstance(read, ReadCluster)
    later = replace(read.snapshot, topics=(topic("orders", [log(0, 150, 1200)]),), taken_at="2026-01-02T14:02:21Z")
    asked.clusters[Cluster.OLD] = replace(read, snapshot=later)
    page.button(key="cluster-old-again").click().run()
    settled(page)
    rows = table_with(page, "reached from (UTC)")
    assert rows["method"].tolist() == ["rate between two readings"]
    assert rows["reached from (UTC)"].tolist() == ["2026-01-02 14:05:21.000"]
    assert rows["why"].tolist() == ["The log start moved 50 offsets in 10 s."]


def test_the_json_download_is_the_snapshot_file() -> None:
    read = clusters_of_tests.reference()[Cluster.OLD]
    written = json.loads(topics.snapshot_file(read.snapshot))
    assert written["format"] == "offsetwise/snapshot"
    assert written["topics"][1]["partitions"][0]["hw"] == "1200"


def test_the_first_request_of_a_fresh_process_may_go_straight_to_the_page() -> None:
    answers.use(reader())
    page = AppTest.from_file(str(APP), default_timeout=30)
    page.switch_page(CLUSTERS)
    page.run()
    assert page.title[0].value == "Clusters"
    assert not page.exception


class SinkReader(ValueReader):
    """Offers a checkpoint whose sink's cluster is stated."""

    def __init__(self, answer: SinkTransactions) -> None:
        super().__init__(live=builders.comparison())
        self._answer = answer

    def offered(self) -> tuple[Offered, ...]:
        return tuple(replace(one, sinks=() if one.recorded else ((ORDERS, "sink"),)) for one in super().offered())

    def sink_transactions(
        self, migration: str, name: str, topics: tuple[str, ...], progress: Progress
    ) -> SinkTransactions:
        assert (migration, name, topics) == (LIVE, "orders", ())
        self.calls["sink_transactions"] += 1
        progress("look twice", 2, 2)
        return self._answer


def test_the_sinks_cluster_shows_at_a_click_who_holds_readers_up_and_which_time_outs_it_allows(
    open_page: OpenPage,
) -> None:
    hangs = row(3, Decision.HANGING, transactional_id=None, broker_state=None, held=False)
    ends = LogEnds(topic="sink", partition=0, last_stable_offset=10, log_end_offset=18)
    upgrade = judged(facts(broker(version=5)), timeout_ms=3_600_000)
    asked = SinkReader(
        found(row(0, Decision.COMMIT), row(1, Decision.ABORT), hangs, partitions=(ends,), upgrade=upgrade)
    )
    page = open_page(asked, CLUSTERS, migration=LIVE)
    assert asked.calls["sink_transactions"] == 0

    page.button(key="sink-transactions-now").click().run()
    settled(page)

    assert not page.exception
    assert asked.calls["sink_transactions"] == 1
    said = words(page).replace("\\", "")
    assert "▲ commit **1** · ▲ abort **1** · ! hanging **1**" in said
    assert "The first time-out" in said
    assert "Nothing ends those that hang" in said
    assert "held back in 1 partition of the sink" in said
    rows = table_with(page, "last stable offset")
    assert (rows["last stable offset"].tolist(), rows["log end"].tolist()) == ([10], [18])
    assert upgrade.until_then[0] in said
    links: list[Any] = [getattr(each, "proto") for each in page.get("page_link")]  # noqa: B009 - untyped
    assert ("Each transaction, and why", "checkpoint") in [(each.label, each.page) for each in links]


def test_the_tabs_are_the_same_before_a_reading_and_after_it_topics_first(open_page: OpenPage) -> None:
    asked = SinkReader(found())
    asked.clusters |= clusters_of_tests.reference()
    page = open_page(asked, CLUSTERS, migration=LIVE)
    before = [tab.label for tab in page.tabs]
    assert words(page).count("Not read yet: read one or both clusters above") == 4
    page.button(key="read-both").click().run()
    settled(page)
    assert topic_rows(page)["old topic"].tolist() == ["clicks", "orders"]
    assert "Not read yet" not in words(page)
    assert [tab.label for tab in page.tabs] == before
    assert before == [
        "Topics",
        "Groups",
        "Mirror",
        "Retention",
        "Transactions of the sink",
        "Access",
    ]


def test_clusters_without_a_topic_of_the_migration_keep_their_tabs(open_page: OpenPage) -> None:
    asked = ValueReader()
    asked.clusters |= {Cluster.OLD: old(), Cluster.NEW: new()}
    page = open_page(asked, CLUSTERS)
    assert not page.exception
    assert page.tabs[0].label == "Topics"
    assert "No topic to show. Neither cluster shows the console's user a topic of this migration" in words(page)


def test_without_a_sink_whose_cluster_is_stated_the_page_says_nothing_of_transactions(open_page: OpenPage) -> None:
    assert "Transactions of the sink" not in words(open_page(reader(live=True), CLUSTERS, migration=LIVE))


def test_the_only_stream_differs_in_the_singular(open_page: OpenPage) -> None:
    page = open_page(Reader(()), CLUSTERS, migration="orders-to-frankfurt (sample)")
    assert page.warning[0].value.startswith("**The stream differs** between the streams")


def test_that_a_log_has_no_limit_is_said_once(open_page: OpenPage) -> None:
    page = open_page(Reader(()), CLUSTERS)
    assert "set no limit" in words(page)
    assert "**no limit**: " not in words(page)
