"""Recognises groups that are applications of Kafka Streams, and their internal topics.

Names: `InternalTopicManager` and `InternalTopologyBuilder` of Kafka Streams, `APPLICATION-NAME-changelog` and
`APPLICATION-NAME-repartition`. Metadata of commits: `TopicPartitionMetadata`, base64 of a version (1 or 2), the time of
the partition in 8 bytes, and from version 2 on the processors' metadata. Client ids: `ClientUtils`.
"""

from __future__ import annotations

import binascii
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from confluent_kafka import KafkaException

from offsetwise.model import Application, ApplicationEvidence, GroupState
from offsetwise.plugins.kafka.stream.client import Client
from offsetwise.plugins.kafka.stream.group_types import STREAMS

CHANGELOG: Final = "-changelog"
REPARTITION: Final = "-repartition"
ASSIGNOR: Final = "stream"
_VERSIONS: Final = (1, 2)
_FIXED_BYTES: Final = 9
_THREAD: Final = re.compile(r"-StreamThread-[0-9]+-consumer")


def with_applications(client: Client, groups: Iterable[GroupState], topics: Collection[str]) -> tuple[GroupState, ...]:
    """Return groups; applications of Kafka Streams with the evidence for it and their internal topics.

    Only groups with matching topics are described: an application without internal topics has only its commits.

    Args:
        client: The cluster.
        groups: The groups as they were read.
        topics: The names of all topics of the cluster.
    """
    groups = tuple(groups)
    internal = internal_topics({group.name for group in groups}, topics)
    evidence: dict[str, ApplicationEvidence] = {}
    unclear = []
    for group in groups:
        shown = evidence_of(group, internal.get(group.name, ()), is_streams=group.type == STREAMS)
        if shown is not None:
            evidence[group.name] = shown
        elif group.name in internal and not group.start_offsets:
            unclear.append(group.name)
    evidence |= _described(client, unclear)
    return tuple(
        replace(group, application=_application(group, evidence[group.name], internal.get(group.name, ())))
        if group.name in evidence and (group.name in internal or group.type == STREAMS)
        else group
        for group in groups
    )


def internal_topics(groups: Collection[str], topics: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the topics that belong to each group by their names, sorted.

    A topic that matches several groups is attributed to the longest name.

    >>> dict(internal_topics({"app", "app-eu"}, ["app-eu-counts-changelog", "app-x-repartition", "orders"]))
    {'app-eu': ('app-eu-counts-changelog',), 'app': ('app-x-repartition',)}
    """
    results: dict[str, list[str]] = defaultdict(list)
    for topic in sorted(topics):
        ending = next((suffix for suffix in (CHANGELOG, REPARTITION) if topic.endswith(suffix)), None)
        if ending is None:
            continue
        begin = topic.removesuffix(ending)
        cuts = [at for at, character in enumerate(begin) if character == "-" and at + 1 < len(begin)]
        owner = next((begin[:at] for at in reversed(cuts) if begin[:at] in groups), None)
        if owner is not None:
            results[owner].append(topic)
    return {name: tuple(names) for name, names in results.items()}


def evidence_of(group: GroupState, internal: Collection[str], *, is_streams: bool) -> ApplicationEvidence | None:
    """Return the evidence in a group's type and commits; None if its members have to be described."""
    if is_streams:
        return ApplicationEvidence.TYPE
    if any(offset.topic in internal and offset.topic.endswith(REPARTITION) for offset in group.offsets):
        return ApplicationEvidence.REPARTITION
    if any(is_metadata(offset.metadata) for offset in group.offsets):
        return ApplicationEvidence.METADATA
    return None


def is_metadata(text: str) -> bool:
    """Return whether the metadata of a commit is that of Kafka Streams.

    >>> is_metadata("AgAAAZVbCDtI"), is_metadata("by hand"), is_metadata("")
    (True, False, False)
    """
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        return False
    return len(data) >= _FIXED_BYTES and data[0] in _VERSIONS and (data[0] > 1 or len(data) == _FIXED_BYTES)


def _described(client: Client, names: list[str]) -> dict[str, ApplicationEvidence]:
    if not names or client.deadline.passed:
        return {}
    results = {}
    answers = client.admin.describe_consumer_groups(names, request_timeout=client.deadline.beyond_s())
    for name, future in answers.items():
        try:
            shown = _shown_by_members(name, future.result(timeout=client.deadline.grace_s()))
        except (KafkaException, TimeoutError):
            continue  # a failure of this group is reported when its commits are read
        if shown is not None:
            results[name] = shown
    return results


def _shown_by_members(name: str, description: Any) -> ApplicationEvidence | None:
    if description.partition_assignor == ASSIGNOR:
        return ApplicationEvidence.ASSIGNOR
    if any(
        member.client_id.startswith(f"{name}-") and _THREAD.search(member.client_id) for member in description.members
    ):
        return ApplicationEvidence.CLIENT_IDS
    return None


def _application(group: GroupState, evidence: ApplicationEvidence, internal: Collection[str]) -> Application:
    read = {offset.topic for offset in group.offsets}
    return Application(
        evidence=evidence,
        # A store is restored without a commit. A topic with one is an input, whatever its name.
        changelogs=tuple(sorted(topic for topic in internal if topic.endswith(CHANGELOG) and topic not in read)),
        repartitions=tuple(sorted(topic for topic in internal if topic.endswith(REPARTITION))),
    )
