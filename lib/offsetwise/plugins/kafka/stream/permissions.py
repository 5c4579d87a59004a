"""The rights that the user of a cluster needs, and those that it has: asked of the broker, never tried out.

The broker returns the authorized operations (KIP-430). Nothing is written to find out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    ConfigResource,
    ResourceType,
)

from offsetwise.client_properties import AddressedCluster
from offsetwise.model import Cluster
from offsetwise.plugins.kafka.stream.client import Client, is_authorisation, reason
from offsetwise.streams.access import AclCommand, Granted, Permissions, Resource

_TOPICS_PER_COMMAND: Final = 25
_READ: Final = ("Read", "DescribeConfigs")


def read_permissions(
    cluster: Cluster,
    config: AddressedCluster,
    *,
    topics: Sequence[str],
    groups: Sequence[str],
    timeout_s: float = 20,
) -> Permissions:
    """Read the operations that the broker authorizes for the user.

    Args:
        cluster: Which side of the migration it is.
        config: How to reach it.
        topics: The topics to ask about.
        groups: The groups to ask about.
        timeout_s: When to stop waiting.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs refused everything.
        ConfigError: Properties cannot be used, or a secret is missing.
    """
    client = Client(config, timeout_s=timeout_s)
    contacted = client.contact()
    within: dict[str, Any] = {"request_timeout": client.deadline.left_s(), "include_authorized_operations": True}
    beyond = within | {"request_timeout": client.deadline.beyond_s()}
    described = client.admin.describe_cluster(**within)
    of_topics = client.admin.describe_topics(TopicCollection(sorted(set(topics))), **within) if topics else {}
    of_groups = client.admin.describe_consumer_groups(sorted(set(groups)), **beyond) if groups else {}
    authorizer = _authorizer(client, next(iter(contacted.brokers)))
    granted = [_granted(client, Resource.CLUSTER, "", described)]
    granted += [_granted(client, Resource.TOPIC, name, future) for name, future in of_topics.items()]
    granted += [_granted(client, Resource.GROUP, name, future) for name, future in of_groups.items()]
    return Permissions(cluster=cluster, user=user_of(config), authorizer=authorizer, granted=tuple(granted))


def user_of(config: AddressedCluster) -> str | None:
    """Return the user as in the migration file; None if it names none (a certificate, or anonymous)."""
    name = config.properties.get("sasl.username") or config.properties.get("sasl.oauthbearer.client.id")
    return None if name is None or name.startswith(("${", "file:")) else name


def principal_of(config: AddressedCluster) -> str:
    """Return Kafka's principal of the user, or a placeholder that says what to insert."""
    protocol = config.properties.get("security.protocol", "plaintext").lower()
    if protocol.startswith("sasl_"):
        return f"User:{user_of(config) or 'NAME-OF-THE-USER'}"
    return "User:SUBJECT-OF-THE-CLIENT-CERTIFICATE" if protocol == "ssl" else "User:ANONYMOUS"


def minimum_acls(
    config: AddressedCluster, *, topics: Iterable[str], mirror_topics: Iterable[str], groups: Iterable[str]
) -> tuple[AclCommand, ...]:
    """Return the `kafka-acls.sh` commands that let the user of a cluster read what a migration needs.

    Args:
        config: How the cluster is reached: its brokers, its user.
        topics: The topics to compare, by their names on this cluster.
        mirror_topics: MirrorMaker's own topics on this cluster.
        groups: The groups to compare.

    Returns:
        One command per purpose, in the order of need. All names are quoted for a shell.
    """
    start = (
        f"kafka-acls.sh --bootstrap-server {quoted(config.properties['bootstrap.servers'])} "
        f"--command-config admin.properties --add --allow-principal {quoted(principal_of(config))}"
    )

    def grant(purpose: str, operations: tuple[str, ...], resource: str, names: Sequence[str]) -> AclCommand:
        return AclCommand(purpose=purpose, command=_command(start, operations, resource, names))

    compared = sorted(set(topics))
    commands = []
    for first in range(0, len(compared), _TOPICS_PER_COMMAND):
        purpose = "Topics to be compared: partitions, offsets, configuration, and records around a position."
        commands.append(grant(purpose, _READ, "topic", compared[first : first + _TOPICS_PER_COMMAND]))
    if own := sorted(set(mirror_topics)):
        commands.append(grant("MirrorMaker's own topics: syncs, checkpoints, heartbeats.", _READ, "topic", own))
    if named := sorted(set(groups)):
        commands.append(grant("Groups to be compared: committed offsets and state.", ("Describe",), "group", named))
    commands.append(
        AclCommand(
            purpose="Only if the cluster refuses Spark's consumers without it. They carry such a group id, and never "
            "commit.",
            command=f"{_command(start, ('Read',), 'group', ['spark-kafka-'])} \\\n  --resource-pattern-type prefixed",
            optional=True,
        )
    )
    return tuple(commands)


def quoted(name: str) -> str:
    r"""Quote a name for a shell, with invisible characters escaped.

    >>> quoted("orders"), quoted("=cmd()"), quoted("a'b"), quoted("or\u202eders")
    ('orders', "'=cmd()'", '\'a\'"\'"\'b\'', "$'or\\u202eders'")
    """
    if name.isascii() and name.isprintable():
        return shlex.quote(name)
    return "$'" + "".join(_escaped(char) for char in name) + "'"


def _escaped(char: str) -> str:
    if char.isascii() and char.isprintable():
        return f"\\{char}" if char in "\\'" else char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def _command(start: str, operations: Sequence[str], kind: str, names: Sequence[str]) -> str:
    options = " ".join(f"--operation {operation}" for operation in operations)
    # With "=", a name that begins with a dash is not taken for an option.
    resources = " ".join(f"--{kind}={quoted(name)}" for name in names)
    return f"{start} \\\n  {options} \\\n  {resources}"


def _granted(client: Client, resource: Resource, name: str, future: Future[Any]) -> Granted:
    try:
        operations = future.result(timeout=client.deadline.grace_s()).authorized_operations
    except (KafkaException, TimeoutError) as error:
        if isinstance(error, KafkaException) and is_authorisation(error.args[0]):
            return Granted(resource=resource, name=name)
        return Granted(resource=resource, name=name, error=reason(error))
    # confluent-kafka returns None for a user that may do nothing.
    return Granted(
        resource=resource, name=name, operations=tuple(sorted(operation.name for operation in operations or ()))
    )


def _authorizer(client: Client, broker: int) -> bool | None:
    # Describing ACLs would be the direct way, but librdkafka returns an empty list both without an authorizer and if
    # the user may not ask.
    resource = ConfigResource(ResourceType.BROKER, str(broker))
    try:
        future = client.admin.describe_configs([resource], request_timeout=client.deadline.left_s())[resource]
        entries = future.result(timeout=client.deadline.grace_s())
    except TimeoutError:
        return None
    except KafkaException as error:
        return True if is_authorisation(error.args[0]) else None
    named = entries.get("authorizer.class.name")
    return None if named is None else bool(named.value)
