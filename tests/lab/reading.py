"""Reads whole partitions, so that tests know the truth from the payloads."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One record as a consumer gets it."""

    offset: int
    serial: str | None
    timestamp_ms: int
    log_append: bool
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One partition with everything in it."""

    start: int
    end: int
    records: tuple[Read, ...]

    def offset_of(self, serial: str | None) -> int:
        """Return the offset of the only record with this serial."""
        (found,) = (record.offset for record in self.records if record.serial == serial)
        return found

    def serial_at(self, offset: int) -> str | None:
        """Return the serial of the record at exactly this offset."""
        (found,) = (record.serial for record in self.records if record.offset == offset)
        return found


def read_log(bootstrap: str, topic: str, partition: int, *, isolation: str = "read_uncommitted") -> Log:
    """Read one partition from log start to log end."""
    place = TopicPartition(topic, partition, OFFSET_BEGINNING)
    with closing(
        Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "truth",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
            }
        )
    ) as consumer:
        start, end = consumer.get_watermark_offsets(place, timeout=20)
        consumer.assign([place])
        records: list[Read] = []
        while True:
            message = consumer.poll(20)
            assert message is not None, f"{topic}-{partition} did not come to its end"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return Log(start=start, end=end, records=tuple(records))
            kind, timestamp_ms = message.timestamp()
            value = message.value() or b"{}"
            records.append(
                Read(
                    offset=message.offset() or 0,
                    serial=json.loads(value).get("serial"),
                    timestamp_ms=timestamp_ms,
                    log_append=kind == TIMESTAMP_LOG_APPEND_TIME,
                    value=value,
                )
            )
