"""Shapes in JSON.

Formats: Spark's option `startingOffsets` (`JsonUtils.partitionOffsets`); Kafka Connect's `GET /connectors/NAME/offsets`
of a sink (`SinkUtils.consumerGroupOffsetsToConnectorOffsets`: the committed offsets of the connector's group); Druid's
metadata of a data source (`KafkaDataSourceMetadata` with `SeekableStreamEndSequenceNumbers`; the end is exclusive,
`KafkaIndexTaskRunner.isEndOffsetExclusive`), which is also the body of `resetOffsets`; Pinot's metadata of segments
(`SegmentZKMetadata`: a segment ends before `segment.realtime.endOffset`, where the next one starts). In each of them an
offset is the next record to read.

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Any, Final

from offsetwise.plugins.positions.engine.shape import (
    MAX_PARTITION,
    Row,
    Shape,
    grouped,
    members,
    offsets_of,
    one_topic,
    topic_name,
    whole,
)
from offsetwise.position import HIGHEST_OFFSET
from offsetwise.strict_json import parse

_TYPES: Final = rb"(?!(?:[SNBML]|[SNB]S|NULL|BOOL)\")"
"""Excludes the type of a value in DynamoDB's JSON, which is where these shapes have the partition."""
_BY_TOPIC: Final = re.compile(rb'\s*\{\s*"[^"\\]{1,249}"\s*:\s*\{\s*"' + _TYPES + rb'[^"]{0,20}"\s*:\s*["0-9-]')
_CONNECT: Final = re.compile(rb'\s*\{\s*"offsets"\s*:\s*\[')
_DRUID: Final = re.compile(rb'"(partitionOffsetMap|partitionSequenceNumberMap|latestOffsets)"\s*:')
_PINOT: Final = re.compile(rb'"(segment\.realtime\.(start|end)Offset|_segmentToConsumingInfoMap)"\s*:')
_SEGMENT: Final = re.compile(r"(?P<table>.+)__(?P<partition>[0-9]{1,9})__(?P<sequence>[0-9]{1,9})__[0-9TZ]+")
"""`LLCSegmentName`: table, partition group, sequence number, time of creation."""
_FOR_OPTION: Final = {"-1": "latest", "-2": "earliest"}
"""Values of Spark's option that are not positions."""
_GROUPS_OF_A_STREAM: Final = 10_000
"""Number from which Pinot counts the partition groups of a table's second stream (`IngestionConfigUtils`)."""


def _dumped(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _topics(data: bytes, word: str) -> Iterable[tuple[str, Any]]:
    refuse_word(word)
    body = parse(data)
    if not isinstance(body, dict):
        raise ValueError("expected an object of topics")
    return body.items()


def _of_topic(topic: str, offsets: object) -> Iterator[Row]:
    return offsets_of(offsets, topic, f"the partitions of {topic[:60]}")


def _by_topic(data: bytes, word: str) -> Iterator[Row]:
    for topic, offsets in _topics(data, word):
        yield from _of_topic(topic_name(topic), offsets)


def _print_by_topic(rows: Sequence[Row]) -> str:
    return _dumped({topic: {str(at): offset for at, offset in of.items()} for topic, of in grouped(rows).items()})


def refuse_word(word: str) -> None:
    """Require that a shape is named without a WORD.

    Raises:
        ValueError: It has one.
    """
    if word:
        raise ValueError(f"the shape is named alone, and found :{word[:60]} behind it")


def _starting(data: bytes, word: str) -> Iterator[Row]:
    for topic, offsets in _topics(data, word):
        name = topic_name(topic)
        for partition, offset in offsets.items() if isinstance(offsets, dict) else ():
            if str(offset) in _FOR_OPTION:
                raise ValueError(
                    f"expected the offset of {name}-{partition}, a whole number from 0 to {HIGHEST_OFFSET}, found "
                    f"{offset}, which is {_FOR_OPTION[str(offset)]} and no position"
                )
        yield from _of_topic(name, offsets)


def _connect(data: bytes, word: str) -> Iterator[Row]:
    refuse_word(word)
    (offsets,) = members(parse(data), ("offsets",), "an object")
    if not isinstance(offsets, list):
        raise ValueError("expected a list of offsets")
    for entry in offsets:
        partition, offset = members(entry, ("partition", "offset"), "an entry")
        topic, at = members(partition, ("kafka_topic", "kafka_partition"), "the partition of a sink connector")
        name = topic_name(topic)
        index = whole(at, f"a partition of {name}", MAX_PARTITION)
        (value,) = members(offset, ("kafka_offset",), f"the offset of {name}-{index}, an object")
        yield Row("", name, index, whole(value, f"the offset of {name}-{index}"))


def _print_connect(rows: Sequence[Row]) -> str:
    return _dumped(
        {
            "offsets": [
                {
                    "partition": {"kafka_partition": row.partition, "kafka_topic": row.topic},
                    "offset": {"kafka_offset": row.offset},
                }
                for row in rows
            ]
        }
    )


def _druid(data: bytes, word: str) -> Iterator[Row]:
    refuse_word(word)
    body = parse(data)
    if isinstance(body, dict) and "payload" in body:
        raise ValueError(
            "expected the metadata that Druid committed, found the status of a supervisor: its latestOffsets are where "
            "the topic ends, and the offsets of its tasks are not committed"
        )
    kind, partitions = members(body, ("type", "partitions"), "an object")
    if kind != "kafka" or not isinstance(partitions, dict) or partitions.get("type", "end") != "end":
        raise ValueError(f"expected the end offsets of type kafka, found {kind!r}")
    if partitions.get("exclusivePartitions"):
        raise ValueError("expected offsets of Kafka, whose ends are exclusive, found exclusivePartitions")
    maps = [partitions[key] for key in ("partitionOffsetMap", "partitionSequenceNumberMap") if key in partitions]
    names = [partitions[key] for key in ("stream", "topic") if key in partitions]
    if not maps or maps[0] != maps[-1] or not names or names[0] != names[-1]:
        raise ValueError("expected stream and partitionOffsetMap, and the same in topic and partitionSequenceNumberMap")
    several = next((key for key in maps[0] if ":" in key), None) if isinstance(maps[0], dict) else None
    if several is not None:
        raise ValueError(f"expected the partitions of one topic, found {several[:60]!r} of a topicPattern")
    yield from offsets_of(maps[0], topic_name(names[0]), "partitionOffsetMap")


def _print_druid(rows: Sequence[Row]) -> str:
    topic = one_topic(rows, "druid-supervisor")
    offsets = {str(row.partition): row.offset for row in rows}
    return _dumped({"type": "kafka", "partitions": {"type": "end", "stream": topic, "partitionOffsetMap": offsets}})


def _segments(body: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(body, dict) and "segment.realtime.status" not in body:
        return [(str(name), value) for name, value in body.items()]
    listed = body if isinstance(body, list) else [body]
    return [(str(value.get("segment.name") if isinstance(value, dict) else value), value) for value in listed]


def _segment(name: str, metadata: Any) -> tuple[str, int, int, int]:
    match = _SEGMENT.fullmatch(name)
    status = metadata.get("segment.realtime.status") if isinstance(metadata, dict) else None
    if match is None or status not in ("DONE", "IN_PROGRESS"):
        raise ValueError(
            f"expected segments TABLE__PARTITION__SEQUENCE__TIME that are DONE or IN_PROGRESS, found {name[:60]!r} "
            f"{status!r}"
        )
    partition = int(match["partition"])
    if partition >= _GROUPS_OF_A_STREAM:
        raise ValueError(f"expected a table of one topic, found partition group {partition} of another one")
    key = f"segment.realtime.{'endOffset' if status == 'DONE' else 'startOffset'}"
    offset = whole(metadata.get(key), f"{key} of {name[:200]}")
    return match["table"], partition, int(match["sequence"]), offset


def _pinot(data: bytes, word: str) -> Iterator[Row]:
    if not word:
        raise ValueError("expected the topic as pinot-segments:TOPIC, since Pinot names the table alone, found none")
    topic, body = topic_name(word), parse(data)
    if isinstance(body, dict) and "_segmentToConsumingInfoMap" in body:
        raise ValueError(
            "expected the metadata of segments, found consumingSegmentsInfo: those offsets are of rows in the servers' "
            "memory, which no segment keeps yet"
        )
    tables = set[str]()
    offsets: dict[int, dict[int, int]] = {}
    for name, metadata in _segments(body):
        table, partition, sequence, offset = _segment(name, metadata)
        tables.add(table)
        if len(tables) > 1:
            raise ValueError(f"expected the segments of one table, found {' and '.join(sorted(tables))[:200]}")
        before = offsets.setdefault(partition, {}).setdefault(sequence, offset)
        if before != offset:
            raise ValueError(f"expected each segment once, found {name[:200]} at {before} and at {offset}")
    for partition, by_sequence in offsets.items():
        yield Row("", topic, partition, by_sequence[max(by_sequence)])


def _patch(name: str, groups: Sequence[str]) -> str:  # noqa: ARG001 - as of every shape
    return (
        "curl --request PATCH --header 'Content-Type: application/json' "
        f"--data @{quote(name)} http://WORKER:8083/connectors/CONNECTOR/offsets, while the connector is STOPPED"
    )


def _reset(name: str, groups: Sequence[str]) -> str:  # noqa: ARG001 - as above
    return (
        "curl --request POST --header 'Content-Type: application/json' "
        f"--data @{quote(name)} http://ROUTER:8888/druid/indexer/v1/supervisor/SUPERVISOR/resetOffsets"
    )


OFFSETS: Final = Shape(
    name="offsets-json",
    title="an object of offsets by topic and partition",
    fits=lambda data: _BY_TOPIC.match(data) is not None,
    rows=_by_topic,
    take='Write {"TOPIC":{"PARTITION":OFFSET}} with the next record to read of each partition.',
    text=_print_by_topic,
    use=lambda name, groups: f"whatever keeps the job's offsets, from {name}",  # noqa: ARG005 - as of every shape
)
SPARK: Final = Shape(
    name="spark-starting-offsets",
    title="Spark's option startingOffsets",
    fits=OFFSETS.fits,
    rows=_starting,
    take="Write the option with an offset of each partition in place of -1 and -2.",
    text=_print_by_topic,
    use=lambda name, groups: f'.option("startingOffsets", open("{name}").read())',  # noqa: ARG005 - as above
)
CONNECT: Final = Shape(
    name="connect-offsets",
    title="Kafka Connect's offsets of a sink connector",
    fits=lambda data: _CONNECT.match(data) is not None,
    rows=_connect,
    take="Stop the sink connector, so that it commits, and take them: curl --request PUT "
    "http://WORKER:8083/connectors/CONNECTOR/stop, then curl http://WORKER:8083/connectors/CONNECTOR/offsets",
    text=_print_connect,
    use=_patch,
)
DRUID: Final = Shape(
    name="druid-supervisor",
    title="the offsets of a Druid supervisor",
    fits=lambda data: _DRUID.search(data) is not None,
    rows=_druid,
    take="Suspend the supervisor, and take what Druid committed: SELECT commit_metadata_payload FROM druid_dataSource "
    "WHERE dataSource = 'NAME' in its metadata store.",
    text=_print_druid,
    use=_reset,
)
PINOT: Final = Shape(
    name="pinot-segments",
    title="the metadata of a Pinot table's segments",
    fits=lambda data: _PINOT.search(data) is not None,
    rows=_pinot,
    take="Pause the table, so that it commits its segments, take them, and name the topic: curl --request POST "
    "http://CONTROLLER:9000/tables/TABLE/pauseConsumption, then curl "
    "http://CONTROLLER:9000/segments/TABLE_REALTIME/zkmetadata, and --shape pinot-segments:TOPIC",
)
