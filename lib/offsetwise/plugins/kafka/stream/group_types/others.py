"""Groups that librdkafka does not list: share groups with their start offsets, and streams groups.

Read with kafka-python. Brokers write a start offset later than the acknowledgements, so it may be older than what is
acknowledged: at most the records between it and the end of the log are unread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from kafka.protocol.admin.groups import ListGroupsRequest

from offsetwise.model import GroupOffset, GroupState
from offsetwise.model.clusters import SHARE
from offsetwise.plugins.kafka.stream.client import Failure, failure
from offsetwise.plugins.kafka.stream.group_types import STREAMS, OtherGroup
from offsetwise.plugins.kafka.stream.group_types.coordinators import group_coordinators
from offsetwise.plugins.kafka.stream.group_types.messages import DescribeShareGroupOffsetsRequest
from offsetwise.plugins.kafka.stream.wire import AGAIN, Wire

_LIST_GROUPS: Final = 16
_DESCRIBE_SHARE_GROUP_OFFSETS: Final = 90
"""Kafka's API keys of the requests."""
_WITH_TYPES: Final = 5
"""The first version of ListGroups that returns group types; older brokers have consumer groups only."""
_GROUPS_PER_REQUEST: Final = 500
_UNKNOWN_REQUEST: Final = Failure(
    "its brokers do not know the request for start offsets (DescribeShareGroupOffsets), which Kafka 4.1 brought"
)
_UNANSWERED: Final = Failure("the broker did not answer in time")


def read_others(wire: Wire, names: Collection[str] | None) -> dict[str, OtherGroup]:
    """Read the share groups and the streams groups of a cluster, by name.

    Args:
        wire: The cluster.
        names: The requested groups; None for all.
    """
    listed = {name: group for name, group in _listed(wire).items() if names is None or name in names}
    shared = [name for name, group in listed.items() if group.is_share_group]
    answers = _start_offsets(wire, shared) if shared else {}
    results = {}
    for name, group in listed.items():
        offsets, why = answers.get(name, ((), None))
        state = GroupState(
            name=name,
            state=group.state,
            type=group.type,
            start_offsets=offsets,
            error=None if why is None else why.why,
        )
        results[name] = OtherGroup(state=state, failure=why)
    return results


def _listed(wire: Wire) -> dict[str, GroupState]:
    if (wire.highest(_LIST_GROUPS) or 0) < _WITH_TYPES:
        return {}
    request = ListGroupsRequest(types_filter=[SHARE.lower(), STREAMS.lower()], min_version=_WITH_TYPES)
    results: dict[str, GroupState] = {}
    for broker in wire.brokers():
        response = wire.ask(broker, request)
        for group in () if response is None else response.groups:
            kind = str(group.group_type).capitalize()
            if kind in (SHARE, STREAMS):  # brokers without these types ignore the filter
                state = str(group.group_state) or None
                results[group.group_id] = GroupState(name=group.group_id, state=state, type=kind)
    return results


_Answer = tuple[tuple[GroupOffset, ...], Failure | None]


def _start_offsets(wire: Wire, names: Iterable[str]) -> dict[str, _Answer]:
    if wire.highest(_DESCRIBE_SHARE_GROUP_OFFSETS) is None:
        return dict.fromkeys(names, ((), _UNKNOWN_REQUEST))
    results: dict[str, _Answer] = {}
    remaining = dict.fromkeys(names, _UNANSWERED)
    while remaining:
        nodes, refused = group_coordinators(wire, remaining)
        answers = {name: ((), _failure(code)) for name, code in refused.items()}
        for node, there in nodes.items():
            for first in range(0, len(there), _GROUPS_PER_REQUEST):
                answers |= _described(wire, node, there[first : first + _GROUPS_PER_REQUEST])
        again = {*refused, *(name for name, answer in answers.items() if answer is None)}
        results |= {name: answer for name, answer in answers.items() if answer is not None}
        remaining = {name: why for name, why in remaining.items() if name in again or name not in results}
        if remaining and not wire.may_go_on():
            break
    return dict.fromkeys(remaining, ((), _UNANSWERED)) | results


def _described(wire: Wire, node: int, names: list[str]) -> dict[str, Any]:
    described = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    request = DescribeShareGroupOffsetsRequest(groups=[described(group_id=name, topics=None) for name in names])
    response = wire.ask(node, request)
    results: dict[str, _Answer | None] = dict.fromkeys(names)
    for group in () if response is None else response.groups:
        if group.group_id in results:  # ignores groups that were not requested
            results[group.group_id] = None if group.error_code in AGAIN else _answer(group)
    return results


def _answer(group: Any) -> _Answer:
    if group.error_code:
        return (), _failure(group.error_code)
    offsets, codes = [], Counter[int]()
    for topic in group.topics:
        for part in topic.partitions:
            codes[part.error_code] += 1
            if part.error_code == 0 and part.start_offset >= 0:  # negative: the group has not begun there
                epoch = part.leader_epoch if part.leader_epoch >= 0 else None
                offsets.append(
                    GroupOffset(
                        topic=topic.topic_name,
                        partition=part.partition_index,
                        offset=part.start_offset,
                        leader_epoch=epoch,
                    )
                )
    return tuple(sorted(offsets, key=lambda offset: offset.topic_partition)), _of_partitions(codes)


def _of_partitions(codes: Mapping[int, int]) -> Failure | None:
    wrong = {code: count for code, count in codes.items() if code}
    if not wrong:
        return None
    first = _failure(next(iter(wrong)))
    return Failure(f"{first.why} for {sum(wrong.values()):,} of its partitions", denied=first.denied)


def _failure(code: int) -> Failure:
    if code == KafkaError.GROUP_ID_NOT_FOUND:
        return Failure("it was deleted meanwhile (GROUP_ID_NOT_FOUND)")
    return failure(KafkaException(KafkaError(code)))
