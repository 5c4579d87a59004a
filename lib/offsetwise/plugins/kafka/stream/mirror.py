"""MirrorMaker's own topics on one cluster, recognised by name and read without committing anything.

A consumer is assigned partition 0 and reads from the log start to the current high watermark. The end-of-partition
event also ends it, because the last offsets may be control markers or compacted away, for which no record comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, TopicPartition

from offsetwise.findings.reading import mirror_unreadable
from offsetwise.model import Heartbeat, MirrorCheckpoint, MirrorState, MirrorTopic, OffsetSync, Problem
from offsetwise.plugins.kafka.stream.client import LOGGER, NO_LEADER, Client, Failure, failure
from offsetwise.plugins.kafka.stream.logs import EARLIEST, LATEST, list_offsets, take_logs
from offsetwise.streams.mirror_topics import MirrorKind, MirrorTopicName, Raw, decode, recognise
from offsetwise.streams.ranges import consumer_configuration

MAX_RECORDS: Final = 5_000_000
"""Maximum number of records read of one topic; the newest if there are more."""
_MAX_HEARTBEATS: Final = 1_000
_BATCH: Final = 10_000
_POLL_S: Final = 0.2


@dataclass(slots=True)
class _MirrorReading:
    start: int
    end: int
    records: list[Raw] = field(default_factory=list)
    done: bool = False
    error: Failure | None = None
    newest_ms: int | None = None


def read_mirror(client: Client, topics: Mapping[str, Any]) -> tuple[MirrorState, list[Problem]]:
    """Find, read and decode MirrorMaker's topics among `topics` (names to librdkafka's metadata)."""
    named = {name: known for name in sorted(topics) if (known := recognise(name)) is not None}
    if not named:
        return MirrorState(), []
    readings = _bounds(client, named, topics)
    _read(client, readings)
    return _state(client, named, readings)


def _bounds(
    client: Client, named: Mapping[str, MirrorTopicName], topics: Mapping[str, Any]
) -> dict[str, _MirrorReading]:
    led = [name for name in named if 0 in topics[name].partitions and topics[name].partitions[0].leader >= 0]
    first = [(name, 0) for name in led]
    requests = {
        "start": list_offsets(client, dict.fromkeys(first, EARLIEST)),
        "end": list_offsets(client, dict.fromkeys(first, LATEST)),
    }
    answers = take_logs(client, requests)
    results = {name: _MirrorReading(0, 0, done=True, error=NO_LEADER) for name in named if name not in led}
    for name in led:
        start, end = answers["start"][name, 0], answers["end"][name, 0]
        if start.offset is None or end.offset is None:
            results[name] = _MirrorReading(0, 0, done=True, error=start.error or end.error)
            continue
        heartbeats = named[name].kind is MirrorKind.HEARTBEATS
        limit = _MAX_HEARTBEATS if heartbeats else MAX_RECORDS
        begin = max(start.offset, end.offset - limit)
        error = None
        if begin > start.offset and not heartbeats:
            error = Failure(f"it holds more than {limit} records, only the newest {limit} were read")
        results[name] = _MirrorReading(begin, end.offset, done=begin >= end.offset, error=error)
    return results


def _read(client: Client, readings: dict[str, _MirrorReading]) -> None:
    if all(reading.done for reading in readings.values()):
        return
    consumer = Consumer(consumer_configuration(client.properties), logger=LOGGER)
    try:
        consumer.assign(
            [TopicPartition(name, 0, reading.start) for name, reading in readings.items() if not reading.done]
        )
        while not client.deadline.passed and not all(reading.done for reading in readings.values()):
            for message in consumer.consume(_BATCH, timeout=min(_POLL_S, client.deadline.left_s())):
                reading = readings.get(message.topic() or "")
                if reading is not None and not reading.done:
                    _take(message, reading)
    except KafkaException as error:
        for reading in readings.values():
            if not reading.done:
                reading.done, reading.error = True, failure(error)
    finally:
        consumer.close()
    for reading in readings.values():
        if not reading.done:
            missing = reading.end - reading.start - len(reading.records)
            reading.error = Failure(f"the broker did not answer in time, up to {missing:,} records are missing")


def _take(message: Any, reading: _MirrorReading) -> None:
    error = message.error()
    if error is None:
        if message.offset() < reading.end:
            reading.records.append((message.key(), message.value()))
            kind, timestamp_ms = message.timestamp()
            if kind != TIMESTAMP_NOT_AVAILABLE:
                reading.newest_ms = max(timestamp_ms, reading.newest_ms or 0)
        reading.done = message.offset() + 1 >= reading.end
    elif error.code() == KafkaError._PARTITION_EOF:
        reading.done = True
    elif not error.retriable() or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        reading.done, reading.error = True, failure(KafkaException(error))


def _state(
    client: Client, named: Mapping[str, MirrorTopicName], readings: Mapping[str, _MirrorReading]
) -> tuple[MirrorState, list[Problem]]:
    topics: list[MirrorTopic] = []
    problems: list[Problem] = []
    syncs: list[tuple[str, tuple[OffsetSync, ...]]] = []
    checkpoints: list[tuple[str, tuple[MirrorCheckpoint, ...]]] = []
    heartbeats: dict[tuple[str, str], Heartbeat] = {}
    for name, known in named.items():
        reading = readings[name]
        decoded = decode(known.kind, reading.records)
        topics.append(
            MirrorTopic(
                name=name,
                kind=known.kind,
                alias=known.alias,
                records=len(decoded.records),
                undecodable=decoded.undecodable,
                error=None if reading.error is None else reading.error.why,
                newest_ms=reading.newest_ms,
            )
        )
        if reading.error:
            why = reading.error
            problems += mirror_unreadable(name, client.config.name, why.why, denied=why.denied)
        if known.kind is MirrorKind.OFFSET_SYNCS:
            syncs.append((name, tuple(record for record in decoded.records if isinstance(record, OffsetSync))))
        if known.kind is MirrorKind.CHECKPOINTS:
            checkpoints.append((name, _newest_checkpoints(decoded.records)))
        heartbeats |= {
            (record.source, record.target): record for record in decoded.records if isinstance(record, Heartbeat)
        }
    state = MirrorState(
        topics=tuple(topics),
        syncs=tuple(syncs),
        checkpoints=tuple(checkpoints),
        heartbeats=tuple(heartbeats[key] for key in sorted(heartbeats)),
    )
    return state, problems


def _newest_checkpoints(records: Iterable[object]) -> tuple[MirrorCheckpoint, ...]:
    newest = {
        (record.group, record.topic, record.partition): record
        for record in records
        if isinstance(record, MirrorCheckpoint)
    }
    return tuple(newest[key] for key in sorted(newest))
