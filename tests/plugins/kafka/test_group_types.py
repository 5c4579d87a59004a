"""Share groups as brokers answer about them, and what shows that a group is an application of Kafka Streams."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin.groups import ListGroupsRequest

from offsetwise.model import ApplicationEvidence, GroupOffset, GroupState
from offsetwise.model.clusters import SHARE
from offsetwise.plugins.kafka.stream.client import Client, Deadline
from offsetwise.plugins.kafka.stream.group_types import OtherGroup
from offsetwise.plugins.kafka.stream.group_types.applications import (
    evidence_of,
    internal_topics,
    is_metadata,
    with_applications,
)
from offsetwise.plugins.kafka.stream.group_types.messages import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from offsetwise.plugins.kafka.stream.group_types.others import read_others
from offsetwise.plugins.kafka.stream.wire import Wire
from tests.plugins.kafka.test_groups import answered
from tests.with_cases import with_cases

_Parts = dict[tuple[str, int], tuple[int, int]]
"""Start offset and error code of each partition."""


@dataclass
class Brokers:
    """One broker with share groups, whose answers go through kafka-python's encoding as those of a real one do."""

    parts: _Parts = field(default_factory=lambda: {("clicks", 0): (3, 0)})
    code: int = 0
    refusals: int = 0
    highest_described: int | None = 0
    named: str | None = None
    """The group that the answer is about; None for the one that it was asked about."""
    asked: int = 0
    deadline: Deadline = field(default_factory=lambda: Deadline(0.3))

    def brokers(self) -> tuple[int, ...]:
        return (1,)

    def highest(self, api_key: int) -> int | None:
        return {10: 6, 16: 5, 90: self.highest_described}[api_key]

    def may_go_on(self) -> bool:
        return not self.deadline.passed

    def ask(self, node: int, request: Any) -> Any:
        assert node == 1
        if isinstance(request, ListGroupsRequest):
            assert list(request.types_filter) == ["share", "streams"]
            group = SimpleNamespace(group_id="sg", group_type="share", group_state="Stable")
            other = SimpleNamespace(group_id="etl", group_type="consumer", group_state="Stable")
            return SimpleNamespace(groups=[group, other])
        if not isinstance(request, DescribeShareGroupOffsetsRequest):
            return SimpleNamespace(coordinators=[SimpleNamespace(key="sg", node_id=1, error_code=0)])
        self.asked += 1
        sent = DescribeShareGroupOffsetsRequest.decode(request.encode(version=0), version=0)
        (wanted,) = sent.groups
        assert wanted.topics is None
        self.refusals -= 1
        code = KafkaError.NOT_COORDINATOR if self.refusals >= 0 else self.code
        return DescribeShareGroupOffsetsResponse.decode(
            _response(self.named or wanted.group_id, {} if code else self.parts, code).encode(version=0), version=0
        )


def _response(group: str, parts: _Parts, code: int) -> Any:
    groups = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
    topics = groups.DescribeShareGroupOffsetsResponseTopic
    partitions = topics.DescribeShareGroupOffsetsResponsePartition
    by_topic: dict[str, list[Any]] = {}
    for (topic, number), (offset, error) in parts.items():
        part = partitions(
            partition_index=number, start_offset=offset, leader_epoch=0, error_code=error, error_message=None
        )
        by_topic.setdefault(topic, []).append(part)
    told = [topics(topic_name=name, topic_id=UUID(int=7), partitions=each) for name, each in by_topic.items()]
    group = groups(group_id=group, topics=told, error_code=code, error_message=None)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=[group])


def _read(brokers: Brokers) -> OtherGroup:
    (name, other), *more = read_others(cast("Wire", brokers), None).items()
    assert (name, more, other.state.type, other.state.state) == ("sg", [], SHARE, "Stable")
    return other


def test_start_offsets_are_read_by_partition_and_those_of_no_beginning_are_none() -> None:
    parts = {("clicks", 1): (2**40, 0), ("clicks", 0): (0, 0), ("audit", 0): (-1, 0)}

    other = _read(Brokers(parts=parts))

    assert other.failure is None
    assert [(str(each.topic_partition), each.offset) for each in other.state.start_offsets] == [
        ("clicks-0", 0),
        ("clicks-1", 2**40),
    ]


@with_cases(
    ("brokers", "words", "denied"),
    [
        (Brokers(code=KafkaError.GROUP_AUTHORIZATION_FAILED), "the user is not authorised (GROUP_AUTHORIZA", True),
        (Brokers(code=KafkaError.GROUP_ID_NOT_FOUND), "it was deleted meanwhile (GROUP_ID_NOT_FOUND)", False),
        (Brokers(highest_described=None), "its brokers do not know the request for start offsets", False),
        (Brokers(refusals=10**6), "the broker did not answer in time", False),
        (Brokers(named="another"), "the broker did not answer in time", False),
        (
            Brokers(parts={("clicks", 0): (3, 0), ("secret", 0): (-1, KafkaError.TOPIC_AUTHORIZATION_FAILED)}),
            "the user is not authorised (TOPIC_AUTHORIZATION_FAILED) for 1 of its partitions",
            True,
        ),
    ],
)
def test_what_is_not_read_is_a_sentence(brokers: Brokers, words: str, denied: bool) -> None:
    other = _read(brokers)

    assert other.failure is not None
    assert words in other.failure.why
    assert (other.failure.denied, other.state.error) == (denied, other.failure.why)


def test_a_coordinator_that_moves_is_asked_again() -> None:
    brokers = Brokers(refusals=2, deadline=Deadline(60))

    assert (_read(brokers).failure, brokers.asked) == (None, 3)


_NAMES = st.text("ab-", min_size=1, max_size=5)


@given(groups=st.sets(_NAMES, max_size=5), middles=st.lists(_NAMES, max_size=6), begins=st.lists(_NAMES, max_size=6))
def test_a_topic_belongs_to_the_group_with_the_longest_name_that_it_begins_with(
    groups: set[str], middles: list[str], begins: list[str]
) -> None:
    topics = {f"{begin}-{middle}-changelog" for begin in begins for middle in middles}

    owned = internal_topics(groups, topics)

    for topic in topics:
        begin = topic.removesuffix("-changelog")
        owners = [group for group in groups if begin.startswith(f"{group}-") and len(begin) > len(group) + 1]
        expected = max(owners, key=len, default=None)
        assert {name for name, its in owned.items() if topic in its} == ({expected} if expected else set())


@given(version=st.integers(0, 255), time_ms=st.integers(-1, 2**63 - 1), processors=st.binary(max_size=20))
def test_metadata_of_kafka_streams_is_known_by_its_bytes(version: int, time_ms: int, processors: bytes) -> None:
    data = bytes([version]) + time_ms.to_bytes(8, "big", signed=True) + processors

    assert is_metadata(b64encode(data).decode()) is (version == 2 or (version == 1 and not processors))
    assert not is_metadata(b64encode(data[:8]).decode())


@given(st.text(max_size=12))
def test_metadata_of_others_is_none(text: str) -> None:
    assert not is_metadata(f"{text}\N{SNOWMAN}")


COUNTS, PARTED = "app-counts-changelog", "app-by-key-repartition"
STREAMS_METADATA = "AgAAAZVbCDtI"


def _group(**committed: str) -> GroupState:
    offsets = [
        GroupOffset(topic=topic.replace("_", "-"), partition=0, offset=7, metadata=metadata)
        for topic, metadata in committed.items()
    ]
    return GroupState(name="app", state="Empty", type="Classic", offsets=tuple(offsets))


@with_cases(
    ("group", "is_streams", "expected"),
    [
        (_group(words=""), True, ApplicationEvidence.TYPE),
        (_group(words=STREAMS_METADATA), False, ApplicationEvidence.METADATA),
        (_group(words="", app_by_key_repartition=""), False, ApplicationEvidence.REPARTITION),
        (_group(words="by hand", app_counts_changelog=""), False, None),
    ],
)
def test_what_shows_an_application(group: GroupState, is_streams: bool, expected: ApplicationEvidence | None) -> None:
    assert evidence_of(group, (COUNTS, PARTED), is_streams=is_streams) is expected


def _client(assignor: str = "", *client_ids: str) -> Client:
    members = [SimpleNamespace(client_id=client_id) for client_id in client_ids]
    described = SimpleNamespace(partition_assignor=assignor, members=members)
    admin = SimpleNamespace(describe_consumer_groups=lambda names, **_: {name: answered(described) for name in names})
    return cast("Client", SimpleNamespace(admin=admin, deadline=Deadline(86_400)))


@with_cases(
    ("client", "expected"),
    [
        (_client("stream"), ApplicationEvidence.ASSIGNOR),
        (_client("", "app-d75551ca-StreamThread-1-consumer"), ApplicationEvidence.CLIENT_IDS),
        (_client("range", "app-1"), None),
        (_client("range", "other-d75551ca-StreamThread-1-consumer"), None),
    ],
)
def test_members_show_an_application_before_it_commits(client: Client, expected: ApplicationEvidence | None) -> None:
    (group,) = with_applications(client, [_group(words="")], ["words", COUNTS])

    assert (group.application and group.application.evidence) == expected


def test_a_topic_that_is_read_as_an_input_is_no_changelog() -> None:
    group = _group(words=STREAMS_METADATA, app_counts_changelog="")

    (judged,) = with_applications(_client(), [group], ["words", COUNTS, PARTED])

    assert judged.application is not None
    assert (judged.application.changelogs, judged.application.repartitions) == ((), (PARTED,))


def test_an_application_that_keeps_no_topic_has_nothing_but_its_commits() -> None:
    (group,) = with_applications(_client(), [_group(words=STREAMS_METADATA)], ["words"])

    assert group.application is None
