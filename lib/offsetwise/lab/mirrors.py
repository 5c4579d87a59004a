from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from offsetwise.lab.brokers import jvm

POLICIES: Final = {
    "identity": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "default": "org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
}


class Policy(StrEnum):
    """How MirrorMaker names a topic on the new cluster: unchanged, or prefixed with `old.`."""

    IDENTITY = "identity"
    DEFAULT = "default"


_PROPERTIES: Final = {
    "clusters": "old, new",
    "old.bootstrap.servers": "{old}",
    "new.bootstrap.servers": "{new}",
    "old->new.enabled": "true",
    "new->old.enabled": "false",
    "old->new.topics": "{topics}",
    "old->new.groups": "^(?!console-consumer-|connect-|__).*",
    "old->new.emit.heartbeats.enabled": "{heartbeats}",
    "new->old.emit.heartbeats.enabled": "{heartbeats}",
    "replication.policy.class": "{policy}",
    "replication.factor": "1",
    "offset.lag.max": "100",
    "sync.topic.acls.enabled": "false",
    "refresh.topics.interval.seconds": "10",
    "refresh.groups.interval.seconds": "10",
    "emit.checkpoints.interval.seconds": "5",
    "emit.heartbeats.interval.seconds": "5",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "offset-syncs.topic.location": "source",
    "new.plugin.discovery": "service_load",
    "old.plugin.discovery": "service_load",
    "old.group.id": "mm2-{name}",
    "new.group.id": "mm2-{name}",
    "offset.storage.topic": "mm2-offsets-{name}.old.internal",
    "config.storage.topic": "mm2-configs-{name}.old.internal",
    "status.storage.topic": "mm2-status-{name}.old.internal",
    "offset.storage.replication.factor": "1",
    "offset.storage.partitions": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "status.storage.partitions": "1",
    "old.offset.flush.interval.ms": "1000",
    "new.offset.flush.interval.ms": "1000",
}
"""The properties of every mirror; a name in braces is a value that differs between mirrors."""


def configuration(
    *, name: str, policy: Policy, topics: Sequence[str], old: str, new: str, settings: Mapping[str, str]
) -> str:
    """Return the `mm2.properties` of one mirror.

    Mirrors with different names are independent: each has its own Connect group and its own stored offsets, so a second
    name over the same topic copies everything again. Only the mirror named `identity` emits heartbeats. Offsets are
    stored every second, so that tests need not wait a minute for them. Topics, groups and checkpoints are looked at
    less often: with hundreds of topics, every second of these costs a mirror and its brokers a tenth of a core.

    Args:
        name: The mirror's name inside the lab.
        policy: The replication policy.
        topics: Topic names or regular expressions, as MirrorMaker reads them.
        old: Bootstrap servers of the source.
        new: Bootstrap servers of the target.
        settings: Further properties, which take precedence over those of the lab.
    """
    values = {
        "heartbeats": "true" if name == Policy.IDENTITY else "false",
        "name": name,
        "new": new,
        "old": old,
        "policy": POLICIES[policy],
        "topics": ", ".join(topics),
    }
    properties = {key: value.format_map(values) for key, value in _PROPERTIES.items()}
    return "".join(f"{key} = {value}\n" for key, value in (properties | dict(settings)).items())


def offsets_topic(name: str) -> str:
    return f"mm2-offsets-{name}.old.internal"


def mirror_command(folder: Path) -> list[str]:
    main_class = "org.apache.kafka.connect.mirror.MirrorMaker"
    return jvm(folder, main_class, str(folder / "mm2.properties"), heap="384m")
