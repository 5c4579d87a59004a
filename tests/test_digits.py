"""Texts that Python takes for numbers and nobody else writes: wherever one stands, it is no number, and no crash."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.batches import history_of
from offsetwise.client_properties.checking import check
from offsetwise.clusters.pairs import TopicPair, differences
from offsetwise.clusters.retention import ReaderPosition, deadline
from offsetwise.console.explore.clusters import summary
from offsetwise.digits import whole_number
from offsetwise.errors import ConfigError
from offsetwise.findings import judge
from offsetwise.model import (
    BatchSource,
    Cluster,
    Neighbour,
    Outcome,
    PartitionState,
    Side,
    TopicOffsets,
    TopicPartition,
)
from offsetwise.plan.gate import RETENTION, start_gate
from tests.findings.cases import NOW_MS, ROW, case, topic
from tests.plan.scene import batch, comparison, migration, snapshot
from tests.with_cases import with_cases

NO_NUMBERS: Final = (
    *("²", "٣", "१२", "1_0", "+1", "-2", "--1", " 1", "1 ", "0x10", "1e3", "1.0", "007", "", "-"),
    *("9223372036854775808", "9" * 5_000),
)
NEXT: Final = Neighbour(old_offset=1050, new_offset=950, timestamp_ms=NOW_MS, identity="a", side=Side.UNREAD)
OFFSETS: Final = TopicOffsets(topic="orders", partitions=(0,), offsets=(5,))
OLD: Final = replace(topic(), config=(("max.message.bytes", "1000"), ("retention.ms", "1000")))


@given(st.integers(min_value=0, max_value=2**64), st.integers(min_value=0, max_value=2**64))
def test_a_number_is_read_as_it_is_written_up_to_the_largest(number: int, most: int) -> None:
    assert whole_number(str(number), most) == (number if number <= most else None)


@given(st.text(max_size=8))
def test_what_is_read_is_written_in_the_same_way(text: str) -> None:
    number = whole_number(text)

    assert number is None or str(number) == text


class TestWhatIsNoNumber:
    @with_cases("text", NO_NUMBERS)
    def test_is_none(self, text: str) -> None:
        assert whole_number(text) is None

    @with_cases("text", NO_NUMBERS)
    def test_as_a_topics_configuration_leaves_it_unknown_when_records_go(self, text: str) -> None:
        config = {"cleanup.policy": "delete", "retention.ms": text, "retention.bytes": text, "max.message.bytes": text}
        new = replace(topic(), config=tuple(config.items()))
        at = ReaderPosition(of="etl", partition=TopicPartition("orders", 0), offset=5, record_ms=1)
        state = PartitionState(partition=0, log_start=0, lso=10, hw=10)
        ahead = replace(ROW, evidence=replace(ROW.evidence, neighbours=(NEXT,)))
        read = tuple(snapshot(cluster, (ahead,)) for cluster in (Cluster.OLD, Cluster.NEW))
        configured = replace(read[1], topics=(replace(read[1].topics[0], config=new.config),))
        checks = start_gate(comparison(ahead, read_from=(read[0], configured)), migration(), NOW_MS)

        assert [check.outcome for check in checks if check.name == RETENTION] == [Outcome.UNKNOWN]
        assert deadline(at, new, state, ()).at_ms is None
        assert summary.duration(text) == "?"
        assert summary.retention(new) == "?, ?"
        assert differences(TopicPair(old_name="orders", new_name="orders", old=OLD, new=new, both_read=True))
        assert not [
            problem for problem in judge(case(ahead, new_topic=new)) if problem.code == "RETENTION_BEFORE_CUTOVER"
        ]

    @with_cases("text", NO_NUMBERS)
    def test_as_a_property_of_a_client_is_refused(self, text: str) -> None:
        with pytest.raises(ConfigError):
            check({"bootstrap.servers": "127.0.0.1:9092", "reconnect.backoff.ms": text}, where="old")

    @with_cases("text", NO_NUMBERS)
    def test_as_the_name_of_a_source_is_a_name(self, text: str) -> None:
        named = replace(batch(0), sources=tuple(BatchSource(id=name, offsets=(OFFSETS,)) for name in ("10", text, "9")))

        assert [lane.source for lane in history_of((named,)).lanes] == ["9", "10", text]
