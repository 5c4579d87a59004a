"""A consumer group of a real lab, its migration file, and the commands on its plan."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Consumer
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from offsetwise.lab import Lab
from tests.commands import Ran, call


def commit(bootstrap: str, group: str, offsets: dict[str, int] | dict[TopicPartition, int], metadata: str = "") -> None:
    """Commit with kafka-python: confluent-kafka ends metadata with a null byte, which the broker keeps."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    at = {TopicPartition(to, 0) if isinstance(to, str) else to: offset for to, offset in offsets.items()}
    consumer.commit({to: OffsetAndMetadata(offset, metadata, -1) for to, offset in at.items()}, timeout_ms=30_000)
    consumer.close()


def committed(bootstrap: str, group: str) -> dict[str, tuple[int, str]]:
    """Read with kafka-python, by topic: librdkafka returns other metadata than was committed."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        answer = admin.list_group_offsets(group)[group]
    finally:
        admin.close()
    return {at.topic: (one.offset, one.metadata or "") for at, one in answer.items() if one.offset >= 0}


@contextmanager
def member(bootstrap: str, group: str, topics: list[str], *, reset: str = "error") -> Iterator[Consumer]:
    """Join a group."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": reset,
            "session.timeout.ms": 6000,
            "log_level": 2,
        }
    )
    consumer.subscribe(topics)
    try:
        yield consumer
    finally:
        consumer.close()


def read_on(bootstrap: str, group: str, topics: list[str], count: int) -> dict[str, list[str]]:
    """Let a real consumer of the group read so many records and commit."""
    found: dict[str, list[str]] = {topic: [] for topic in topics}
    end = time.monotonic() + 60
    with member(bootstrap, group, topics) as consumer:
        while sum(map(len, found.values())) < count and time.monotonic() < end:
            message = consumer.poll(0.5)
            if message is None:
                continue
            assert message.error() is None, message.error()
            found[str(message.topic())].append(json.loads(message.value() or b"{}")["serial"])
        consumer.commit(asynchronous=False)
    return found


@dataclass
class Job:
    """One group, its migration file, and the commands on its plan."""

    lab: Lab
    group: str
    folder: Path

    def call(self, *arguments: str | Path) -> Ran:
        return call(*arguments, "--migration", self.folder / "m.yaml", "--json")

    def write_migration(self, **changes: Any) -> None:
        """Write the migration file."""
        body: dict[str, Any] = {
            "name": "moved",
            "source": {"properties": {"bootstrap.servers": self.lab.old_bootstrap}},
            "target": {"properties": {"bootstrap.servers": self.lab.new_bootstrap}},
            "topics": {"policy": "identity"},
            "link": "other",
            "writers": "mirror-only",
            "groups": [self.group],
            "spark": {"master": "local[2]"},
        }
        (self.folder / "m.yaml").write_text(yaml.safe_dump(body | changes), encoding="utf-8")

    def drafted(self, *flags: str) -> dict[str, Any]:
        """Draft a plan for the group and sign it."""
        plan, target = self.folder / "plan.json", f"consumer-group:{self.group}"
        named = ("--group", self.group, "--target", target, "--out", plan, "--author", "ann")
        made = self.call("draft", *named, *flags).answered()
        assert call("keygen", "--out", self.folder / "rea", "--as", "rea").code == 0
        signing = ("--key", self.folder / "rea", "--as", "rea", "--out", self.folder / "approval.json")
        signed = call("sign", plan, *signing)
        assert signed.code == 0, signed.err
        return made

    def apply(self, *more: str) -> Ran:
        return self.call(
            "apply",
            self.folder / "plan.json",
            *self.signed,
            *("--receipt", self.folder / "receipt.json"),
            *more,
        )

    def receipt(self, command: str, *more: str) -> Ran:
        given = self.signed[2:] if command == "rollback" else ()
        return self.call(command, self.folder / "receipt.json", *given, *more)

    @property
    def signed(self) -> tuple[str | Path, ...]:
        return ("--approval", self.folder / "approval.json", "--trust", self.folder / "rea.pub")

    def now(self) -> dict[str, tuple[int, str]]:
        return committed(self.lab.new_bootstrap, self.group)
