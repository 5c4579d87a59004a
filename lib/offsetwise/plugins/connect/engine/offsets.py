"""The offsets of a sink connector in its workers' REST format, which are those of its consumer group.

Format: `SinkUtils` of Kafka Connect. An offset is the next record to read: `consumerGroupOffsetsToConnectorOffsets`
reports what the group has committed, `parseSinkConnectorOffsets` parses what `Worker.alterSinkConnectorOffsets`
commits. So nothing is converted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from offsetwise.model import TopicPartition
from offsetwise.position import HIGHEST_OFFSET

_MAX_PARTITION: Final = 2**31 - 1
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_SHOWN: Final = 120

Offsets = Mapping[TopicPartition, int]
"""The next record to read, by topic and partition."""


def entries_of(body: Any) -> list[Any]:
    """Return the entries of an answer to `GET /connectors/NAME/offsets`.

    Raises:
        ValueError: It is another answer.
    """
    entries = body.get("offsets") if isinstance(body, dict) else None
    if not isinstance(entries, list) or len(body) != 1:
        raise ValueError(f"expected offsets, a list, found {_shown(body)}")
    return entries


def sink_offsets(body: Any) -> dict[TopicPartition, int]:
    """Return the offsets of a sink connector, by topic and partition.

    Raises:
        ValueError: An offset cannot be used, so none is; the message says what was expected and found.
    """
    offsets: dict[TopicPartition, int] = {}
    for entry in entries_of(body):
        partition, offset = _members(entry, "partition", "offset")
        topic, number = _members(partition, "kafka_topic", "kafka_partition")
        if not isinstance(topic, str) or not _TOPIC.fullmatch(topic):
            raise ValueError(f"expected the name of a topic, found {_shown(topic)}")
        at = TopicPartition(topic, _whole(number, _MAX_PARTITION, f"a partition of {topic}"))
        (value,) = _members(offset, "kafka_offset")
        if at in offsets:
            raise ValueError(f"expected {at} once, found it twice")
        offsets[at] = _whole(value, HIGHEST_OFFSET, f"the offset of {at}")
    return dict(sorted(offsets.items()))


def request_body(offsets: Mapping[TopicPartition, int | None]) -> bytes:
    """Return the body of `PATCH /connectors/NAME/offsets`; a partition without an offset loses its commit.

    >>> request_body({TopicPartition("orders", 0): None})
    b'{"offsets":[{"partition":{"kafka_topic":"orders","kafka_partition":0},"offset":null}]}'
    """
    entries = [
        {
            "partition": {"kafka_topic": at.topic, "kafka_partition": at.partition},
            "offset": None if offset is None else {"kafka_offset": offset},
        }
        for at, offset in sorted(offsets.items())
    ]
    return json.dumps({"offsets": entries}, separators=(",", ":")).encode()


def _members(value: Any, *keys: str) -> list[Any]:
    if not isinstance(value, dict) or value.keys() != set(keys):
        raise ValueError(f"expected {' and '.join(keys)}, found {_shown(value)}")
    return [value[key] for key in keys]


def _whole(value: Any, most: int, what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
        return value
    raise ValueError(f"expected {what}, a whole number from 0 to {most}, found {_shown(value)}")


def _shown(value: Any) -> str:
    return repr(value)[:_SHOWN]
