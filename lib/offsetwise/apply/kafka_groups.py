"""Groups of a real cluster, read and written through Kafka's admin client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from offsetwise.config import ClusterConfig
from offsetwise.errors import ApplyError, LostReplyError
from offsetwise.model import GroupOffset, GroupState, TopicPartition
from offsetwise.sources.kafka_client import Client, reason
from offsetwise.sources.kafka_groups import read_groups

TIMEOUT_S: Final = 20.0
_UNSENT: Final = frozenset({KafkaError._INVALID_ARG, KafkaError._AUTHENTICATION, KafkaError._UNSUPPORTED_FEATURE})
"""The client's own refusals, before anything is sent."""


@dataclass(frozen=True, slots=True)
class KafkaGroups:
    """The groups of one cluster."""

    config: ClusterConfig
    timeout_s: float = TIMEOUT_S

    def read(self, group: str) -> GroupState:
        """Give a group as it is now, all its commits included.

        Raises:
            ClusterError: The cluster gave no answer.
        """
        client = Client(self.config, timeout_s=self.timeout_s)
        client.contact()
        (found,), _ = read_groups(client, (group,))
        return found

    def commit(self, group: str, offsets: tuple[GroupOffset, ...]) -> Mapping[TopicPartition, str]:
        """Commit offsets in one request; give the reason for every partition that was refused.

        Raises:
            ClusterError: The cluster gave no answer; nothing was sent.
            ApplyError: The whole request was refused; nothing was committed.
            LostReplyError: It was sent, and no reply came.
        """
        client = Client(self.config, timeout_s=self.timeout_s)
        client.contact()
        wanted = [_partition(one) for one in offsets]
        request = [ConsumerGroupTopicPartitions(group, wanted)]
        future = client.admin.alter_consumer_group_offsets(request, request_timeout=client.deadline.left_s())[group]
        try:
            answer = future.result(timeout=client.deadline.grace_s())
        except TimeoutError as error:
            raise _lost(group, reason(error)) from error
        except KafkaException as error:
            code = error.args[0].code()
            # Everything else that the client itself reports (a negative number) may come after the request was sent.
            if code == KafkaError.REQUEST_TIMED_OUT or (code < 0 and code not in _UNSENT):
                raise _lost(group, reason(error)) from error
            raise ApplyError(
                f"Group {group!r}: expected to commit {len(offsets)} partitions, but {reason(error)}. "
                "Nothing was committed.",
                fix="Grant READ on the group and its topics, and stop every member, then give the same command again.",
            ) from error
        return {
            TopicPartition(topic=one.topic, partition=one.partition): reason(KafkaException(one.error))
            for one in answer.topic_partitions
            if one.error is not None
        }


def _partition(one: GroupOffset) -> KafkaPartition:
    if one.leader_epoch is None:
        return KafkaPartition(one.topic, one.partition, one.offset, one.metadata)
    return KafkaPartition(one.topic, one.partition, one.offset, one.metadata, one.leader_epoch)


def _lost(group: str, why: str) -> LostReplyError:
    return LostReplyError(
        f"Group {group!r}: the reply to a commit was lost, because {why}. Whether it was done is not known.",
        fix="Read the group again before anything else.",
    )
