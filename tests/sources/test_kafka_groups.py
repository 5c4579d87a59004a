"""Groups of a cluster that has just begun: its first group makes the coordinator, and is waited for."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from offsetwise.model import GroupOffset
from offsetwise.sources.kafka_client import Client, Deadline
from offsetwise.sources.kafka_groups import read_groups


def answered(value: Any) -> Future[Any]:
    made: Future[Any] = Future()
    if isinstance(value, Exception):
        made.set_exception(value)
    else:
        made.set_result(value)
    return made


@dataclass
class Fresh:
    """A cluster without a coordinator for the first few questions. Asking it for offsets before would crash."""

    code: int
    refusals: int
    asked: list[str] = field(default_factory=list)

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        return answered(SimpleNamespace(valid=[], errors=[]))

    def describe_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        self.refusals -= 1
        error = KafkaException(KafkaError(self.code))
        return {name: answered(error if self.refusals >= 0 else object()) for name in names}

    def list_consumer_group_offsets(
        self, request: list[ConsumerGroupTopicPartitions], **_: Any
    ) -> dict[str, Future[Any]]:
        assert self.refusals < 0, "librdkafka would abort the process"
        name = request[0].group_id
        self.asked.append(name)
        found = TopicPartition("orders", 0, 7)
        return {name: answered(SimpleNamespace(topic_partitions=[found]))}


def client(fresh: Fresh, timeout_s: float) -> Client:
    made = SimpleNamespace(admin=fresh, deadline=Deadline(timeout_s), config=SimpleNamespace(name="new"))
    return cast("Client", made)


NOT_YET = pytest.mark.parametrize(
    ("code", "words"),
    [
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "its coordinator is still loading"),
        (KafkaError.COORDINATOR_NOT_AVAILABLE, "it has no coordinator yet"),
        (KafkaError.NOT_COORDINATOR, "its coordinator is changing"),
    ],
)


@NOT_YET
def test_a_coordinator_that_comes_in_time_is_waited_for(code: int, words: str) -> None:
    (etl,), problems = read_groups(client(Fresh(code, refusals=2), timeout_s=60), ("etl",))

    assert words
    assert (etl.error, problems) == (None, [])
    assert etl.offsets == (GroupOffset(topic="orders", partition=0, offset=7),)


@NOT_YET
def test_a_coordinator_that_does_not_come_is_told_in_words_and_not_asked(code: int, words: str) -> None:
    fresh = Fresh(code, refusals=10**6)

    (etl,), problems = read_groups(client(fresh, timeout_s=0.3), ("etl",))

    assert (etl.error, etl.state, fresh.asked) == (words, None, [])
    assert [each.code for each in problems] == ["GROUP_UNREADABLE"]
