"""Groups of a cluster that has just begun: its first group makes the coordinator, and is waited for."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from offsetwise.client_properties import ClientProperties
from offsetwise.model import GroupOffset
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.groups import place_of, read_groups
from tests.with_cases import with_cases


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
    unlisted: int = 0
    asked: list[str] = field(default_factory=list)
    described: list[list[str]] = field(default_factory=list)

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        self.unlisted -= 1
        return answered(SimpleNamespace(valid=[], errors=[KafkaError(self.code)] if self.unlisted >= 0 else []))

    def describe_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        self.described.append(names)
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


def client(fresh: Fresh, timeout_s: float, coordinators: int = 0) -> Client:
    config = SimpleNamespace(name="new")
    made = SimpleNamespace(
        admin=fresh,
        deadline=Deadline(timeout_s),
        config=config,
        coordinators=coordinators,
        properties=ClientProperties({"ssl.keystore.location": "given"}),  # which kafka-python does not take
    )
    return cast("Client", made)


NOT_YET = with_cases(
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
    assert [each.code for _, each in problems] == ["GROUP_UNREADABLE"]


@NOT_YET
def test_groups_that_are_not_listed_yet_are_listed_again(code: int, words: str) -> None:
    (etl,), problems = read_groups(client(Fresh(code, refusals=0, unlisted=2), timeout_s=60), ("etl",))

    assert words
    assert (etl.state, problems) == ("Dead", [])


@NOT_YET
def test_groups_that_are_never_listed_have_no_known_state(code: int, words: str) -> None:
    (etl,), problems = read_groups(client(Fresh(code, refusals=0, unlisted=10**6), timeout_s=0.3), ("etl",))

    assert etl.state is None
    assert [words in each.message for _, each in problems] == [True]


def test_one_group_of_a_coordinator_is_described_for_all() -> None:
    fresh = Fresh(KafkaError.NOT_COORDINATOR, refusals=0)
    read_groups(client(fresh, timeout_s=60, coordinators=1), ("b", "c", "a"))
    assert (fresh.described, fresh.asked) == ([["c"]], ["a", "b", "c"])


def test_a_group_that_may_not_be_described_speaks_for_no_other() -> None:
    fresh = Fresh(KafkaError.GROUP_AUTHORIZATION_FAILED, refusals=1)
    read_groups(client(fresh, timeout_s=60, coordinators=1), ("a", "b", "c"))
    assert (fresh.described, fresh.asked) == ([["c"], ["a"], ["b"]], ["a", "b", "c"])


@with_cases(
    ("group", "code"),
    [
        ("hello", 99162322),
        ("Hello World", -862545276),
        ("Aa", 2112),
        ("BB", 2112),
        ("\N{GRINNING FACE}", 31 * 0xD83D + 0xDE00),
        ("", 0),
    ],
)
def test_a_group_is_kept_where_javas_hash_of_its_name_says(group: str, code: int) -> None:
    assert place_of(group, 50) == abs(code) % 50


def test_the_hash_that_has_no_positive_counterpart_is_taken_as_none() -> None:
    assert place_of("polygenelubricants", 50) == 0


def test_groups_stand_alone_where_nobody_knows_how_they_are_placed() -> None:
    assert place_of("hello", 0) == "hello"


class Shared(Fresh):
    """A cluster with a share group, which librdkafka lists and does not know."""

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        state, kind = SimpleNamespace(name="STABLE"), SimpleNamespace(name="UNKNOWN")
        listed = SimpleNamespace(group_id="sg", state=state, type=kind, is_simple_consumer_group=False)
        return answered(SimpleNamespace(valid=[listed], errors=[]))

    def describe_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        error = KafkaException(KafkaError(self.code))
        return {name: answered(error if self.refusals else object()) for name in names}

    def list_consumer_group_offsets(
        self, request: list[ConsumerGroupTopicPartitions], **_: Any
    ) -> dict[str, Future[Any]]:
        found = SimpleNamespace(topic_partitions=[TopicPartition("orders", 0, 7)])
        error = KafkaException(KafkaError(self.code))
        return {request[0].group_id: answered(error if self.refusals else found)}


def test_a_share_group_is_told_from_a_consumer_group() -> None:
    (group,), _ = read_groups(client(Shared(KafkaError.GROUP_ID_NOT_FOUND, refusals=9), timeout_s=60), ("sg",))

    assert (group.type, group.state, group.offsets, group.subscribed) == ("Share", "Stable", (), True)


def test_a_group_of_an_unknown_type_with_offsets_keeps_them() -> None:
    (group,), problems = read_groups(client(Shared(KafkaError.GROUP_ID_NOT_FOUND, refusals=0), timeout_s=60), ("sg",))

    assert (group.type, len(group.offsets), problems) == ("Unknown", 1, [])


@dataclass
class Marked(Fresh):
    """A cluster whose commits have metadata, which librdkafka returns with what lies behind it."""

    behind: bytes = b""

    def list_consumer_group_offsets(
        self, request: list[ConsumerGroupTopicPartitions], **_: Any
    ) -> dict[str, Future[Any]]:
        entry = MarkedOffset(topic="orders", partition=0, offset=7, leader_epoch=None, error=None, behind=self.behind)
        return {request[0].group_id: answered(SimpleNamespace(topic_partitions=[entry]))}


class MarkedOffset(SimpleNamespace):
    behind: bytes

    @property
    def metadata(self) -> str:
        return bytes.decode(b"by hand" + self.behind)


@with_cases("only", ["ssl.keystore.location", "sasl.oauthbearer.method"])
@with_cases("behind", [b"", b"h", b"\x91", b"\xc3", "é".encode(), b"\xff" * 9])
def test_metadata_that_only_librdkafka_can_read_is_not_believed(behind: bytes, only: str) -> None:
    reached = client(Marked(KafkaError.NO_ERROR, refusals=0, behind=behind), timeout_s=60)
    reached.properties = ClientProperties({only: "given"})

    (group,), ((name, problem),) = read_groups(reached, ("g",))

    assert group.offsets == (GroupOffset(topic="orders", partition=0, offset=7),)
    assert (name, problem.code) == ("g", "GROUP_UNREADABLE")
    assert "without metadata" in problem.message
