"""The requests that change groups, sent with kafka-python over connections to the reviewed cluster.

librdkafka sends such a request over whichever connection it has at that moment, possibly a new one, and does not tell
which. See `plugins.kafka.targets.reviewed_cluster`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from kafka.protocol.admin.groups import DeleteGroupsRequest
from kafka.protocol.consumer.group import OffsetCommitRequest

from offsetwise.errors import OffsetwiseError
from offsetwise.model import GroupOffset, TopicPartition
from offsetwise.plugins.kafka.stream.client import reason
from offsetwise.plugins.kafka.stream.group_types.coordinators import group_coordinators
from offsetwise.plugins.kafka.stream.wire import AGAIN, Wire
from offsetwise.plugins.kafka.targets.group.checks import lost, nothing_committed, other_cluster
from offsetwise.plugins.kafka.targets.group.port import Reply
from offsetwise.plugins.kafka.targets.reviewed_cluster import OtherClusterError, UnsentError, send

_BY_NAME: Final = 9
"""The last version of OffsetCommit that names topics; later ones use their ids."""
_NO_MEMBER: Final = -1

_Codes = Mapping[TopicPartition, int]
"""Kafka's error code of each part of an answer, 0 for none."""
_Outcome = Reply | str
"""A reply, or why nothing was done."""


class GroupRequests:
    """Changes groups of one cluster.

    Args:
        wire: A client that has reached a cluster with the same address.
        cluster_id: Id of the reviewed cluster.
    """

    def __init__(self, wire: Wire, cluster_id: str | None) -> None:
        self._wire = wire
        self._cluster_id = cluster_id

    def commit(self, requested: Mapping[str, tuple[GroupOffset, ...]]) -> Mapping[str, Reply]:
        topics = cache(_topics)  # groups of one plan mostly get the same offsets
        changed = self._changed(
            {name: _commit(name, topics(offsets)) for name, offsets in requested.items()}, _committed
        )
        return {
            name: nothing_committed(name, len(requested[name]), outcome) if isinstance(outcome, str) else outcome
            for name, outcome in changed.items()
        }

    def remove(self, group: str) -> str | None:
        request = DeleteGroupsRequest(groups_names=[group])
        outcome = self._changed({group: request}, partial(_removed, group))[group]
        if isinstance(outcome, OffsetwiseError):
            raise outcome
        return outcome if isinstance(outcome, str) else next(iter(outcome.values()), None)

    def _changed(self, requests: Mapping[str, Any], codes_of: Callable[[Any], _Codes]) -> Mapping[str, _Outcome]:
        outcomes: dict[str, _Outcome] = {}
        remaining = dict.fromkeys(requests, int(KafkaError.COORDINATOR_NOT_AVAILABLE))
        while remaining:
            nodes, codes = group_coordinators(self._wire, remaining)
            for node, names in nodes.items():
                for name, outcome in self._sent(node, {name: requests[name] for name in names}, codes_of).items():
                    if isinstance(outcome, int):
                        codes[name] = outcome
                    else:
                        outcomes[name] = outcome
            remaining = {name: code for name, code in codes.items() if code in AGAIN}
            outcomes |= {name: _reason(code) for name, code in codes.items() if name not in remaining}
            if remaining and not self._wire.may_go_on():
                break
        return outcomes | {name: _reason(code) for name, code in remaining.items()}

    def _sent(
        self, node: int, requests: Mapping[str, Any], codes_of: Callable[[Any], _Codes]
    ) -> Mapping[str, _Outcome | int]:
        """Send requests to one coordinator; a number is the error code of a request that may be retried."""
        try:
            answers = send(self._wire, node, tuple(requests.values()), self._cluster_id)
        except UnsentError:
            return dict.fromkeys(requests, int(KafkaError.COORDINATOR_NOT_AVAILABLE))
        except OtherClusterError as error:
            effect = "Nothing was sent for this group."
            return {
                name: other_cluster(f"Group {name!r}", self._cluster_id, error.cluster_id, effect) for name in requests
            }
        led_away = answers.after is not None and answers.after != self._cluster_id
        results: dict[str, _Outcome | int] = {}
        for name, response in zip(requests, answers.responses, strict=True):
            codes = {} if response is None else codes_of(response)
            again = set(codes.values())
            if response is None:
                results[name] = lost(name, "the broker did not answer, or the connection to it failed")
            elif not codes:
                results[name] = lost(name, "the broker's answer is not about it")
            elif led_away:
                results[name] = lost(name, f"behind it the connection led to cluster {answers.after}")
            elif KafkaError.REQUEST_TIMED_OUT in again:
                results[name] = lost(name, _reason(KafkaError.REQUEST_TIMED_OUT))
            elif len(again) == 1 and again <= set(AGAIN):
                results[name] = again.pop()
            else:
                results[name] = {at: _reason(code) for at, code in codes.items() if code}
        return results


def _topics(offsets: tuple[GroupOffset, ...]) -> Sequence[Any]:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    by_topic: dict[str, list[Any]] = defaultdict(list)
    for offset in offsets:
        by_topic[offset.topic].append(
            topic.OffsetCommitRequestPartition(
                partition_index=offset.partition,
                committed_offset=offset.offset,
                committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                committed_metadata=offset.metadata,
            )
        )
    return [topic(name=name, partitions=partitions) for name, partitions in by_topic.items()]


def _commit(group: str, topics: Sequence[Any]) -> Any:
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=_NO_MEMBER,
        member_id="",
        group_instance_id=None,
        retention_time_ms=-1,
        topics=topics,
        min_version=2,
        max_version=_BY_NAME,
    )


def _committed(response: Any) -> _Codes:
    return {
        TopicPartition(topic.name, partition.partition_index): partition.error_code
        for topic in response.topics
        for partition in topic.partitions
    }


def _removed(group: str, response: Any) -> _Codes:
    return {
        TopicPartition(group, 0): 0 if result.error_code == KafkaError.GROUP_ID_NOT_FOUND else result.error_code
        for result in response.results
        if result.group_id == group
    }


def _reason(code: int) -> str:
    return reason(KafkaException(KafkaError(code)))
