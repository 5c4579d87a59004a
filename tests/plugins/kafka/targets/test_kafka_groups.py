"""What a broker or the client says of a commit: done, refused, or not known because it may have arrived."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

from offsetwise.config import ClusterConfig
from offsetwise.errors import ApplyError, LostReplyError, StalePlanError
from offsetwise.model import GroupOffset, TopicPartition
from offsetwise.plugins.kafka.stream.client import Deadline
from offsetwise.plugins.kafka.targets.group import brokers
from offsetwise.plugins.kafka.targets.group.port import Reply
from tests.with_cases import with_cases

WANTED = (
    GroupOffset(topic="orders", partition=0, offset=950, metadata="mine", leader_epoch=4),
    GroupOffset(topic="orders", partition=1, offset=940),
)
MAY_HAVE_ARRIVED = {
    "the client's time ran out": KafkaError._TIMED_OUT,
    "the connection broke": KafkaError._TRANSPORT,
    "every broker went away": KafkaError._ALL_BROKERS_DOWN,
    "the client was closed": KafkaError._DESTROY,
    "the broker's own time ran out": KafkaError.REQUEST_TIMED_OUT,
    "the broker does not know itself": KafkaError.UNKNOWN,
}
NOTHING_COMMITTED = {
    "no right to the group": KafkaError.GROUP_AUTHORIZATION_FAILED,
    "the group has members": KafkaError.UNKNOWN_MEMBER_ID,
    "the coordinator moved": KafkaError.NOT_COORDINATOR,
    "the client refused it": KafkaError._INVALID_ARG,
    "the client could not sign in": KafkaError._AUTHENTICATION,
    "the broker is too old": KafkaError._UNSUPPORTED_FEATURE,
}
CLUSTER = "reviewed"
BY_TOKEN = {"bootstrap.servers": "new.invalid:9092", "sasl.oauthbearer.method": "oidc"}
"""What the second client cannot sign in with, so that librdkafka sends the change."""
CONFIG = ClusterConfig(name="new", properties=BY_TOKEN)


class Answering:
    """Stands where the client does, and answers every request in one way."""

    asked: list[ConsumerGroupTopicPartitions]
    outcome: Any
    led_to: str | None
    """The cluster that answers when it is asked once more."""

    def __init__(self, _config: ClusterConfig, *, timeout_s: float) -> None:
        self.deadline = Deadline(timeout_s)
        self.properties = _config.properties
        self.admin = self

    def contact(self) -> Any:
        return SimpleNamespace(cluster_id=CLUSTER)

    def describe_cluster(self, *, request_timeout: float) -> Future[Any]:
        assert request_timeout > 0
        future: Future[Any] = Future()
        future.set_result(SimpleNamespace(cluster_id=self.led_to))
        return future

    def alter_consumer_group_offsets(
        self, request: list[ConsumerGroupTopicPartitions], *, request_timeout: float
    ) -> dict[str, Future[Any]]:
        assert request_timeout > 0
        self.asked += request
        return {each.group_id: self._answer() for each in request}

    def delete_consumer_groups(self, groups: list[str], *, request_timeout: float) -> dict[str, Future[Any]]:
        assert request_timeout > 0
        return {group: self._answer() for group in groups}

    def _answer(self) -> Future[Any]:
        future: Future[Any] = Future()
        if isinstance(self.outcome, BaseException):
            future.set_exception(self.outcome)
        else:
            future.set_result(self.outcome)
        return future


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[Answering]:
    monkeypatch.setattr(Answering, "asked", [], raising=False)
    monkeypatch.setattr(Answering, "outcome", None, raising=False)
    monkeypatch.setattr(Answering, "led_to", CLUSTER, raising=False)
    monkeypatch.setattr(brokers, "Client", Answering)
    return Answering


def committed(cluster_id: str | None = CLUSTER) -> Reply:
    return brokers.commit(CONFIG, {"etl": WANTED}, cluster_id, 20)["etl"]


def removed(cluster_id: str | None = CLUSTER) -> str | None:
    return brokers.remove(CONFIG, "etl", cluster_id, 20)


def failing(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


@with_cases("why", MAY_HAVE_ARRIVED)
def test_what_may_have_arrived_is_neither_done_nor_refused(why: str, client: type[Answering]) -> None:
    client.outcome = failing(MAY_HAVE_ARRIVED[why])

    reply = committed()
    assert isinstance(reply, LostReplyError)
    assert "Whether it was done is not known" in reply.problem
    with pytest.raises(LostReplyError, match="Whether it was done is not known"):
        removed()


def test_no_answer_in_time_is_neither(client: type[Answering]) -> None:
    client.outcome = TimeoutError()

    assert isinstance(committed(), LostReplyError)
    with pytest.raises(LostReplyError):
        removed()


@with_cases("why", NOTHING_COMMITTED)
def test_what_was_refused_as_a_whole_is_told_as_that(why: str, client: type[Answering]) -> None:
    client.outcome = failing(NOTHING_COMMITTED[why])

    reply = committed()
    assert isinstance(reply, ApplyError)
    assert not isinstance(reply, LostReplyError)
    assert "expected to commit 2 partitions" in reply.problem
    assert reply.problem.endswith("Nothing was committed.")
    assert isinstance(removed(), str), "why the group is not deleted"


def test_every_partitions_own_error_is_looked_at(client: type[Answering]) -> None:
    done = SimpleNamespace(topic="orders", partition=0, error=None)
    refused = SimpleNamespace(topic="orders", partition=1, error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    client.outcome = SimpleNamespace(topic_partitions=[done, refused])

    reply = committed()

    assert isinstance(reply, dict)
    assert set(reply) == {TopicPartition("orders", 1)}


def test_one_request_carries_offset_metadata_and_epoch_of_every_partition(client: type[Answering]) -> None:
    client.outcome = SimpleNamespace(topic_partitions=[])

    assert committed() == {}
    (request,) = client.asked
    sent = request.topic_partitions or []
    assert [(p.topic, p.partition, p.offset, p.metadata, p.leader_epoch) for p in sent] == [
        ("orders", 0, 950, "mine", 4),
        ("orders", 1, 940, "", None),
    ]


def test_a_group_that_is_gone_already_is_deleted(client: type[Answering]) -> None:
    client.outcome = failing(KafkaError.GROUP_ID_NOT_FOUND)

    assert removed() is None


@with_cases("led_to", ["another", None])
def test_a_change_behind_which_the_address_leads_elsewhere_is_neither_done_nor_refused(
    led_to: str | None, client: type[Answering]
) -> None:
    client.outcome = SimpleNamespace(topic_partitions=[])
    client.led_to = led_to

    reply = committed()

    assert isinstance(reply, LostReplyError)
    assert ("cluster another" if led_to else "no cluster that answers") in reply.problem
    with pytest.raises(LostReplyError, match="behind it the address led to"):
        removed()


def test_nothing_is_sent_where_the_address_leads_to_another_cluster(client: type[Answering]) -> None:
    for change in (
        lambda: committed("another"),
        lambda: removed("another"),
        lambda: brokers.read(CONFIG, ("etl",), "another", 20),
        lambda: committed(None),
    ):
        with pytest.raises(StalePlanError, match=f"the address leads to cluster {CLUSTER} now"):
            change()
    assert client.asked == []
