"""Consumer groups: their states and committed offsets.

One request per broker lists the states of all groups; offsets need a request per group, a limited number of which runs
concurrently, and one more per coordinator (see `_coordinated`).

librdkafka lists neither share groups nor streams groups: if a group is not listed, or all are requested, they are read
with kafka-python.

librdkafka 2.16.0 copies the metadata of a commit without its terminating byte, so the returned text continues with
whatever follows in memory: it differs at each reading, and often cannot be decoded. Groups whose commits have metadata
are read once more, with kafka-python.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

from offsetwise.client_properties.kafka_python import ONLY_LIBRDKAFKA
from offsetwise.errors import OffsetwiseError
from offsetwise.findings.reading import group_unreadable
from offsetwise.model import GroupOffset, GroupState, Problem
from offsetwise.model.clusters import SHARE
from offsetwise.plugins.kafka.stream.client import Client, Failure, failure, reason
from offsetwise.plugins.kafka.stream.group_types import OtherGroup
from offsetwise.plugins.kafka.stream.group_types.applications import with_applications
from offsetwise.position import TopicPartition
from offsetwise.transactions.observed import UnsupportedBrokerError

_ASKED_AT_ONCE: Final = 256
"""Groups whose offsets are requested together, while the coordinators of the next ones are checked."""
_PAUSE_S: Final = 0.1
_NO_COORDINATOR: Final = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
_STATES: Final = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "EMPTY": "Empty",
    "DEAD": "Dead",
    "ASSIGNING": "Assigning",
    "RECONCILING": "Reconciling",
}

Listed = tuple[str | None, str | None, bool | None]
"""State and type of a group, and whether consumers have subscribed with it; None if unknown."""


def read_groups(
    client: Client, names: tuple[str, ...] | None, topics: Collection[str] = ()
) -> tuple[tuple[GroupState, ...], list[tuple[str | None, Problem]]]:
    """Read the named groups, or all that are listed (None), sorted by name.

    A group that never committed has no offsets; one that does not exist is `Dead`, as in Kafka. `topics` are the names
    of all topics of the cluster, among them the internal ones of Kafka Streams applications.

    Returns:
        The groups, and the problems, each with the group it is about; None for all.
    """
    if names == ():
        return (), []
    listed = _list(client)
    requests = [] if names is None else _offsets(client, sorted(set(names)))
    states, unlisted = _states(client, listed)
    problems: list[tuple[str | None, Problem]] = [(None, problem) for problem in unlisted]
    others = _others(client, None if names is None else set(names) - states.keys())
    states |= {name: (other.state.state, other.state.type, None) for name, other in others.items()}
    shared = {name: other for name, other in others.items() if other.state.is_share_group}
    if names is None:
        requests = _offsets(client, sorted(states.keys() - shared.keys()))
    answers = {name: _answer(client, future) for name, future in sorted(requests, key=itemgetter(0))}
    answers |= {name: ((), other.failure) for name, other in shared.items()}
    marked = [name for name, (entries, _) in answers.items() if any(map(_has_metadata, entries))]
    metadata = _read_with_metadata(client, marked)
    problems += [(name, _without_metadata(name, client.config.name)) for name in marked if name not in metadata]
    refused = {name for name, future in requests if _says_no_group(future)}
    groups = []
    for name, (entries, error) in sorted(answers.items()):
        # A group that is not listed does not exist, unless listing failed on a broker or the user may not see it.
        state, kind, subscribed = states.get(name, (None if unlisted or error else "Dead", None, None))
        if name in states and kind == "Unknown" and name in refused:
            kind = SHARE  # it is listed, and not a consumer group: librdkafka has no name for this type
        offsets = shared[name].state.start_offsets if name in shared else _offsets_of(entries, metadata.get(name, {}))
        groups.append(_group(name, (state, kind, subscribed), offsets, None if error is None else error.why))
        if error:
            problems += [(name, problem) for problem in _unreadable(client, name, error)]
    return with_applications(client, groups, topics), problems


def _unreadable(client: Client, name: str, error: Failure) -> Iterator[Problem]:
    return group_unreadable(name, client.config.name, error.why, denied=error.denied)


def _group(name: str, listed: Listed, offsets: tuple[GroupOffset, ...], error: str | None) -> GroupState:
    state, kind, subscribed = listed
    group = GroupState(name=name, state=state, type=kind, error=error, subscribed=subscribed)
    return replace(group, start_offsets=offsets) if kind == SHARE else replace(group, offsets=offsets)


def _others(client: Client, names: Collection[str] | None) -> Mapping[str, OtherGroup]:
    """Read groups that librdkafka does not list, those named or all (None); empty if kafka-python fails."""
    if names == set() or client.deadline.passed or not ONLY_LIBRDKAFKA.keys().isdisjoint(client.properties):
        return {}
    from offsetwise.plugins.kafka.stream.group_types.others import read_others  # noqa: PLC0415 - as for metadata
    from offsetwise.plugins.kafka.stream.wire import Wire  # noqa: PLC0415 - as for metadata

    try:
        with Wire(client.config, client.properties, client.deadline) as wire:
            return read_others(wire, names)
    except (OffsetwiseError, UnsupportedBrokerError):
        return {}  # this client cannot reach the cluster, or a broker is older than it reported


def _list(client: Client) -> Future[Any]:
    listed: Future[Any] = client.admin.list_consumer_groups(request_timeout=client.deadline.left_s())
    return listed


def _states(client: Client, future: Future[Any]) -> tuple[dict[str, Listed], list[Problem]]:
    """Return state, type and subscription of every listed group, and the problems.

    A broker lists none while it loads a partition of `__consumer_offsets`, as it does for a moment after a cluster's
    first group: the request is repeated until the deadline.
    """
    try:
        listed = future.result(timeout=client.deadline.grace_s())
        while not client.deadline.passed and any(error.code() in _NO_COORDINATOR for error in listed.errors):
            time.sleep(_PAUSE_S)
            listed = _list(client).result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError) as error:
        return {}, [_unlisted(client, reason(error))]
    states: dict[str, Listed] = {
        group.group_id: (
            _STATES.get(group.state.name),
            group.type.name.capitalize() if group.type else None,
            not group.is_simple_consumer_group,
        )
        for group in listed.valid
    }
    problems = [_unlisted(client, reason(KafkaException(error))) for error in listed.errors[:1]]
    return states, problems


def _unlisted(client: Client, why: str) -> Problem:
    return group_unreadable.problem(
        f"The groups of cluster {client.config.name!r} were not all listed, because {why}: the state of some is "
        "unknown.",
        fix="Take the snapshot again when all brokers answer.",
    )


def _offsets(client: Client, names: list[str]) -> list[tuple[str, Future[Any]]]:
    coordinator_keys = {name: place_of(name, client.coordinators) for name in names}
    names = sorted(names, key=lambda name: str(coordinator_keys[name]))
    results: list[tuple[str, Future[Any]]] = []
    for first in range(0, len(names), _ASKED_AT_ONCE):
        share = names[first : first + _ASKED_AT_ONCE]
        speakers = {coordinator_keys[name]: name for name in share}
        ready = {} if client.deadline.passed else _coordinated(client, list(speakers.values()))
        # Starts with the newest of the share before: it is most likely answered last, and each wait costs a thread
        # switch, which takes long on a busy machine.
        for _, future in reversed(results[max(0, first - _ASKED_AT_ONCE) : first]):
            _failure(client, future)
        for name in share:
            speaker = speakers[coordinator_keys[name]]
            results.append((name, _ask(client, name, ready.get(speaker, _late()), own=speaker == name)))
    return results


def place_of(group: str, coordinators: int) -> int | str:
    """Return a key shared by groups with the same coordinator: their partition of `__consumer_offsets`.

    Computed like Kafka: `Utils.abs(groupId.hashCode) % partitions` (`GroupCoordinatorService.partitionFor`). If the
    number of partitions is not known, each group is its own key.
    """
    if not coordinators:
        return group
    code = 0
    for unit in memoryview(group.encode("utf-16", "surrogatepass")[2:]).cast("H"):
        code = (31 * code + unit) & 0xFFFFFFFF
    return min(code, 2**32 - code) % 2**31 % coordinators


def _coordinated(client: Client, names: list[str]) -> dict[str, Future[Any]]:
    """Describe groups, which shows whether each has a coordinator that answers for it now.

    librdkafka 2.16.0 crashes the process if a coordinator answers a request for offsets with NOT_COORDINATOR (its
    handler uses the consumer group of the handle, and an admin client has none), as happens while a broker starts or a
    leader moves. The same answer to this request is an ordinary error. The result applies to all groups of the same
    partition of `__consumer_offsets`, so one group is described for each partition in a share.
    """
    return dict(client.admin.describe_consumer_groups(names, request_timeout=client.deadline.beyond_s()))


def _ask(client: Client, name: str, ready: Future[Any], *, own: bool) -> Future[Any]:
    """Request a group's offsets as soon as it has a coordinator: the first group of a new cluster creates it.

    Args:
        client: The client.
        name: The group.
        ready: Its description, or that of another group with the same coordinator.
        own: Whether it is its own. Other errors of another group, such as a missing permission, do not matter.
    """
    while (error := _failure(client, ready)) is not None and not isinstance(error, TimeoutError):
        if _code(error) in _NO_COORDINATOR:
            time.sleep(_PAUSE_S)
        elif own:
            break
        if client.deadline.passed:
            return ready
        ready, own = _coordinated(client, [name])[name], True
    if isinstance(error, TimeoutError) or client.deadline.passed:
        return _late()
    request = [ConsumerGroupTopicPartitions(name)]
    return client.admin.list_consumer_group_offsets(request, request_timeout=client.deadline.beyond_s())[name]


def _failure(client: Client, future: Future[Any]) -> BaseException | None:
    try:
        return future.exception(timeout=client.deadline.grace_s())
    except TimeoutError as error:
        return error


def _code(error: BaseException) -> int | None:
    return error.args[0].code() if isinstance(error, KafkaException) else None


def _says_no_group(future: Future[Any]) -> bool:
    error = future.exception() if future.done() else None
    return error is not None and _code(error) == KafkaError.GROUP_ID_NOT_FOUND


def _late() -> Future[Any]:
    late: Future[Any] = Future()
    late.set_exception(TimeoutError())
    return late


def _answer(client: Client, future: Future[Any]) -> tuple[tuple[Any, ...], Failure | None]:
    try:
        answer = future.result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError) as error:
        return (), failure(error)
    failed = [entry for entry in answer.topic_partitions if entry.error is not None]
    # librdkafka returns a negative offset for "nothing committed".
    entries = tuple(entry for entry in answer.topic_partitions if entry.error is None and entry.offset >= 0)
    if not failed:
        return entries, None
    first = failure(KafkaException(failed[0].error))
    return entries, replace(first, why=f"{first.why} for {len(failed):,} of its partitions")


def _has_metadata(entry: Any) -> bool:
    """Return whether a commit returned by librdkafka has metadata; its content cannot be relied on."""
    try:
        return bool(entry.metadata)
    except UnicodeDecodeError:
        return True


def _read_with_metadata(client: Client, groups: list[str]) -> Mapping[str, Mapping[TopicPartition, tuple[int, str]]]:
    """Read offsets and their metadata with kafka-python.

    Returns:
        By group and partition. A group without an answer is absent, and all are if the client's properties work with
            librdkafka only.
    """
    results: dict[str, Mapping[TopicPartition, tuple[int, str]]] = {}
    if not groups or client.deadline.passed or not ONLY_LIBRDKAFKA.keys().isdisjoint(client.properties):
        return results
    from offsetwise.plugins.kafka.stream.wire import Wire  # noqa: PLC0415 - imports a second client, a quarter of a second

    try:
        with Wire(client.config, client.properties, client.deadline) as wire:
            for name in groups:
                committed = None if client.deadline.passed else wire.committed(name)
                if committed is not None:
                    results[name] = committed
    except OffsetwiseError:
        return results  # this client cannot reach the cluster
    return results


def _without_metadata(name: str, cluster: str) -> Problem:
    return group_unreadable.problem(
        f"The metadata that group {name!r} committed with its offsets on cluster {cluster!r} was not read: expected "
        "kafka-python, which reads it, to reach the group. The offsets are right; a rollback would put them back "
        "without metadata.",
        fix="Give ssl.certificate.location and ssl.key.location in place of a key store or OAuth tokens, or take the "
        "snapshot again.",
    )


def _offsets_of(
    entries: tuple[Any, ...], committed: Mapping[TopicPartition, tuple[int, str]]
) -> tuple[GroupOffset, ...]:
    offsets = []
    for entry in entries:
        offset, metadata = committed.get(TopicPartition(entry.topic, entry.partition), (entry.offset, ""))
        epoch = entry.leader_epoch if (entry.leader_epoch or -1) >= 0 and offset == entry.offset else None
        offsets.append(
            GroupOffset(
                topic=entry.topic, partition=entry.partition, offset=offset, leader_epoch=epoch, metadata=metadata
            )
        )
    return tuple(sorted(offsets, key=lambda offset: offset.topic_partition))
