"""Finds the brokers that coordinate groups, with kafka-python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from confluent_kafka import KafkaError
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest

from offsetwise.plugins.kafka.stream.wire import Wire

_FIND_COORDINATOR: Final = 10
"""Kafka's API key of the request."""
_MANY_KEYS: Final = 4
"""Its first version that accepts more than one group."""


def group_coordinators(wire: Wire, groups: Iterable[str]) -> tuple[dict[int, list[str]], dict[str, int]]:
    """Find the current coordinators of groups.

    Args:
        wire: The cluster.
        groups: The groups.

    Returns:
        The groups by node id, and Kafka's error code of each group without a coordinator.
    """
    names = sorted(groups)
    single = (wire.highest(_FIND_COORDINATOR) or 0) < _MANY_KEYS
    nodes: dict[int, list[str]] = defaultdict(list)
    codes: dict[str, int] = {}
    for share in [[name] for name in names] if single else [names]:
        request = FindCoordinatorRequest(
            key_type=CoordinatorType.GROUP.value, key=share[0], coordinator_keys=share, min_version=1
        )
        response = next(filter(None, (wire.ask(node, request) for node in wire.brokers())), None)
        results: dict[str, tuple[int, int]] = {}
        if response is not None and single:
            results = {share[0]: (response.node_id, response.error_code)}
        elif response is not None:
            results = {
                coordinator.key: (coordinator.node_id, coordinator.error_code) for coordinator in response.coordinators
            }
        for name in share:  # ignores groups that were not requested
            node, code = results.get(name, (-1, int(KafkaError.COORDINATOR_NOT_AVAILABLE)))
            if code == 0:
                nodes[node].append(name)
            else:
                codes[name] = code
    return nodes, codes
