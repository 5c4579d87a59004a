"""The brokers' support of two-phase commit: their requests, settings, and rights on transactional ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka.protocol.admin.acl import DescribeAclsRequest
from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.metadata import ApiVersionsRequest

from offsetwise.client_properties import AddressedCluster
from offsetwise.plugins.kafka.stream.client import Client
from offsetwise.plugins.kafka.stream.wire import Wire
from offsetwise.transactions.observed import UnsupportedBrokerError
from offsetwise.transactions.upgrade import READ, AclGrant, Broker, TransactionFacts

INIT_PRODUCER_ID: Final = 22
"""Kafka's API key of the request."""
NO_AUTHORIZER: Final = 54
_BROKER: Final = 4
"""Kafka's number of the resource type broker."""
_ANY: Final = 1
_TRANSACTIONAL_ID: Final = 5
_ALLOW: Final = 3


def read_facts(config: AddressedCluster, *, timeout_s: float = 20) -> TransactionFacts:
    client = Client(config, timeout_s=timeout_s)
    client.contact()
    with Wire(config, client.properties, client.deadline) as wire:
        nodes = wire.brokers()
        apis = {node: wire.ask(node, _api_versions()) for node in nodes}
        settings = {node: wire.ask(node, _settings(node)) for node in nodes if apis[node] is not None}
        authorizer, grants = _grants(wire, nodes)
    brokers = tuple(_broker(node, apis[node], broker_settings) for node, broker_settings in settings.items())
    silent = tuple(node for node in nodes if apis[node] is None)
    return TransactionFacts(name=config.name, brokers=brokers, silent=silent, authorizer=authorizer, grants=grants)


def _api_versions() -> Any:
    return ApiVersionsRequest(client_software_name="offsetwise", client_software_version="1", min_version=3)


def _settings(node: int) -> Any:
    return DescribeConfigsRequest(resources=[(_BROKER, str(node), list(READ))], include_synonyms=False)


def _broker(node: int, apis: Any, settings: Any) -> Broker:
    offered = frozenset((key.api_key, key.min_version, key.max_version) for key in apis.api_keys)
    return Broker(
        id=node,
        apis=offered,
        init_producer_id=max((most for key, _, most in offered if key == INIT_PRODUCER_ID), default=None),
        config=_config(settings),
    )


def _config(settings: Any) -> Mapping[str, str]:
    results = () if settings is None else settings.results
    return {
        config.name: config.value
        for result in results
        if result.error_code == 0
        for config in result.configs
        if config.value is not None
    }


def _grants(wire: Wire, nodes: tuple[int, ...]) -> tuple[bool | None, tuple[AclGrant, ...]]:
    request = DescribeAclsRequest(
        resource_type_filter=_TRANSACTIONAL_ID,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    for node in nodes:
        try:
            response = wire.ask(node, request)
        except UnsupportedBrokerError:
            return None, ()
        if response is None:
            continue
        if response.error_code == NO_AUTHORIZER:
            return False, ()
        if response.error_code:
            return None, ()
        return True, tuple(
            AclGrant(
                principal=acl.principal,
                name=resource.resource_name,
                pattern=resource.pattern_type,
                operation=acl.operation,
                allowed=acl.permission_type == _ALLOW,
            )
            for resource in response.resources
            for acl in resource.acls
        )
    return None, ()
