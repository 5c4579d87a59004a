"""The files of a Spark checkpoint, one pure function each: bytes in, values out, damage as a reason.

Formats: Spark's `OffsetSeqLog` (v1, v2), `CommitLog` (v1 to v3), `KafkaSourceOffset`, `KafkaSourceInitialOffsetWriter`
and Hadoop's `ChecksumFileSystem`. Nothing is repaired: a text that two readers could read differently (duplicate keys,
floats, numbers beyond int64) is damaged, never a number.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from offsetwise.digits import whole_number
from offsetwise.model import TopicOffsets
from offsetwise.strict_json import check_size

VOID: Final = "-"
OFFSET_LOG_VERSIONS: Final = (1, 2)
COMMIT_LOG_VERSIONS: Final = (1, 2, 3)
INT64_MAX: Final = 2**63 - 1
PARTITION_MAX: Final = 2**31 - 1
MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a log file. A partition takes about twenty bytes."""
MAX_SOURCES: Final = 256
"""Maximum number of sources of a query. Its offset files have a line for each."""
MAX_VALUES: Final = 500_000
"""Maximum number of values in one line."""
_SMALL: Final = 16 * 1024
"""Length in characters below which a line is harmless, and its values are not counted."""

_Configuration = tuple[tuple[str, str], ...]
_LINES: Final = re.compile(r"\r\n|\n|\r")
_AS_WRITTEN: Final = re.compile(
    r'\{"batchWatermarkMs":(0|[1-9][0-9]{0,17}),"batchTimestampMs":(0|[1-9][0-9]{0,17}),"conf":(\{.*\})\}'
)
"""The metadata as Spark writes it."""
_VERSION: Final = re.compile(r"v([1-9][0-9]{0,8})")
_SOURCE_ID: Final = re.compile(r"[A-Za-z0-9_]{1,255}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._\-]{1,249}")
_DIGITS: Final = re.compile(r"-?[0-9]+")
_PARTITION: Final = re.compile(r"0|[1-9][0-9]{0,9}")


class GarbledError(ValueError):
    """A file is not as Spark writes it. The message says what was expected and what was found."""


class UnknownLogVersionError(GarbledError):
    """A log file has a version that no known release of Spark writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOffset:
    id: str
    kind: str | None
    """`kafka`, `other`, or None for a void offset (`-`): the source has none yet."""
    offsets: tuple[TopicOffsets, ...] = ()
    raw: str | None = None
    damage: str | None = None
    """Why the line cannot be used; then there are no offsets."""
    negative: tuple[tuple[str, int, int], ...] = ()
    """(topic, partition, number) left out of the offsets, because the number is negative."""

    @property
    def is_kafka(self) -> bool:
        return self.kind == "kafka"


class Head(NamedTuple):
    """What an offset file has above the lines of its sources."""

    version: int
    timestamp_ms: int | None
    watermark_ms: int | None
    configuration: tuple[tuple[str, str], ...]


Lines = dict[str, SourceOffset]
"""The lines of an offset file by the ids of their sources, in the order of the file."""


def parse_offsets(data: bytes) -> tuple[Head, Lines]:
    """Read `offsets/<batch>`.

    A source whose line cannot be used has its `damage`; the other sources stay usable.

    Raises:
        GarbledError: The file as a whole cannot be relied on.
    """
    lines = _lines(data)
    version = _version(lines[0], OFFSET_LOG_VERSIONS, "offset")
    if len(lines) < 3:
        raise GarbledError(f"expected a version, a metadata and one line per source, found {len(lines):,} line(s)")
    if len(lines) - 2 > MAX_SOURCES:
        raise GarbledError(f"expected at most {MAX_SOURCES} sources, found {len(lines) - 2:,} lines of them")
    head = Head(version, *_metadata(lines[1]))
    if version == 1:
        return head, {str(index): parse_source(str(index), text) for index, text in enumerate(lines[2:])}
    return head, _named_sources(lines[2:])


def parse_commit(data: bytes) -> int:
    """Parse `commits/<batch>` and return its version. Commits contain no source offsets.

    Raises:
        GarbledError: It is not a commit file.
    """
    lines = _lines(data)
    version = _version(lines[0], COMMIT_LOG_VERSIONS, "commit")
    if len(lines) > 1 and lines[1].strip() and not isinstance(_json(lines[1]), dict):
        raise GarbledError("expected a JSON object in line 2, found another JSON value")
    return version


def parse_initial_offsets(data: bytes) -> tuple[SourceOffset, str | None]:
    """Parse `sources/<i>/0` of a Kafka source.

    Spark's writer begins the file with a zero byte; its reader skips one byte, whatever it is.

    Returns:
        The offsets (with `damage` if they cannot be used), and why Spark would fail to read the file, or None.
    """
    lacking = "the byte before the version is missing, so Spark fails to read it" if data[:3] == b"v1\n" else None
    try:
        lines = _lines(data if lacking else data[1:])
        if lines[0].startswith("v"):
            _version(lines[0], (1,), "initial offset")
            lines = lines[1:]
        text = "\n".join(lines)
    except GarbledError as error:
        return SourceOffset(id="", kind="kafka", damage=str(error)), lacking
    parsed = parse_source("", text)
    if parsed.damage is None and not parsed.is_kafka:
        parsed = SourceOffset(id="", kind="kafka", damage="expected Kafka offsets, found another text")
    return parsed, lacking


def looks_like_kafka_initial(data: bytes) -> bool:
    """Return whether `sources/<i>/0` is of a Kafka source: only these have a byte before the version or the JSON."""
    if data[:1] == b"\0" or data[1:4] == b"v1\n":
        return True
    parsed, _ = parse_initial_offsets(data)
    return data[:3] == b"v1\n" and parsed.damage is None and bool(parsed.offsets or parsed.negative)


def parse_query_id(data: bytes) -> str:
    """Parse `metadata` and return the query's id.

    Raises:
        GarbledError: It is not the metadata of a streaming query.
    """
    value = _json(_text(data))
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or not value["id"]:
        raise GarbledError('expected {"id": "<query id>"}, found another JSON value')
    return str(value["id"])


def checksum_fits(data: bytes, checksum: bytes) -> bool:
    if checksum[:4] != b"crc\0" or len(checksum) < 8:
        return False
    chunk = int.from_bytes(checksum[4:8], "big")
    if not 0 < chunk <= 64 * 1024 * 1024:
        return False
    expected = b"".join(
        zlib.crc32(data[start : start + chunk]).to_bytes(4, "big") for start in range(0, len(data), chunk)
    )
    return checksum[8:] == expected


def parse_source(source_id: str, text: str) -> SourceOffset:
    """Classify one offset text by its shape, and parse it if it is Kafka's.

    Azure Event Hubs writes the same shape as Kafka; whether the topic exists is for the caller to check.
    """
    stripped = text.strip()
    if stripped == VOID:
        return SourceOffset(id=source_id, kind=None)
    try:
        result = _kafka(_offsets_json(stripped))
    except GarbledError as error:
        return SourceOffset(id=source_id, kind="other", damage=str(error))
    if result is None:
        return SourceOffset(id=source_id, kind="other", raw=text)
    offsets, negative = result
    return SourceOffset(id=source_id, kind="kafka", offsets=offsets, negative=negative)


_Found = tuple[tuple[TopicOffsets, ...], tuple[tuple[str, int, int], ...]]


def _kafka(value: Any) -> _Found | None:
    if not isinstance(value, dict):
        return None
    if not any(isinstance(inner, dict) and any(map(_DIGITS.fullmatch, inner)) for inner in value.values()):
        return ((), ()) if all(inner == {} for inner in value.values()) else None
    topics: list[TopicOffsets] = []
    negative: list[tuple[str, int, int]] = []
    for topic, inner in value.items():
        if not _TOPIC.fullmatch(topic):
            raise GarbledError(f"expected a topic name, found {topic[:60]!r}")
        if not isinstance(inner, dict):
            raise GarbledError(f"expected partitions under topic {topic!r}, found {str(inner)[:40]!r}")
        if not inner:
            continue
        offsets = tuple(inner.values())
        if set(map(type, offsets)) != {int}:
            other = next(number for number in offsets if type(number) is not int)
            raise GarbledError(f"expected integers as the offsets of topic {topic!r}, found {str(other)[:40]!r}")
        lowest = min(offsets)
        if not -(2**63) <= lowest <= max(offsets) <= INT64_MAX:
            raise GarbledError(f"expected 64-bit offsets in topic {topic!r}, found a number beyond them")
        partitions = _partitions(topic, tuple(inner))
        if lowest < 0:
            pairs = tuple(zip(partitions, offsets, strict=True))
            negative += [(topic, partition, offset) for partition, offset in pairs if offset < 0]
            partitions = tuple(partition for partition, offset in pairs if offset >= 0)
            offsets = tuple(offset for offset in offsets if offset >= 0)
        if offsets:
            topics.append(TopicOffsets(topic=topic, partitions=partitions, offsets=offsets))
    return tuple(topics), tuple(negative)


_PARTITIONS: Final = {str(number): number for number in range(4096)}


@lru_cache(maxsize=64)
def _partitions(topic: str, names: tuple[str, ...]) -> tuple[int, ...]:
    try:
        return tuple(map(_PARTITIONS.__getitem__, names))
    except KeyError:
        return tuple(_partition(topic, name) for name in names)


def _partition(topic: str, name: str) -> int:
    if not _PARTITION.fullmatch(name) or int(name) > PARTITION_MAX:
        raise GarbledError(f"expected a partition number under topic {topic!r}, found {name[:40]!r}")
    return int(name)


def _named_sources(lines: list[str]) -> Lines:
    results: Lines = {}
    for line in lines:
        source_id, colon, text = line.partition(":")
        source_id = source_id.strip()
        if not colon or not _SOURCE_ID.fullmatch(source_id):
            raise GarbledError(f"expected 'id:offset' in a v2 offset log, found {line[:60]!r}")
        if source_id in results:
            raise GarbledError(f"expected each source once, found {source_id!r} twice")
        results[source_id] = parse_source(source_id, text)
    if all(whole_number(source_id) is not None for source_id in results):
        return {source_id: results[source_id] for source_id in sorted(results, key=int)}
    return results


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GarbledError(f"expected UTF-8, found other bytes at {error.start}") from error


def _lines(data: bytes) -> list[str]:
    """Split as Java's `BufferedReader.readLine` does: a line end at the end of the file adds no line."""
    if not data:
        raise GarbledError("expected a version line, found an empty file")
    if len(data) > MAX_BYTES:
        raise GarbledError(f"expected at most {MAX_BYTES:,} bytes, found {len(data):,}")
    text = _text(data)
    lines = _LINES.split(text) if "\r" in text else text.split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _version(line: str, known: tuple[int, ...], what: str) -> int:
    matched = _VERSION.fullmatch(line)
    if matched is None:
        raise GarbledError(f"expected a version line such as 'v1', found {line[:40]!r}")
    version = int(matched[1])
    if version not in known:
        written = ", ".join(f"v{number}" for number in known)
        raise UnknownLogVersionError(f"expected {what} log version {written}, found v{version}")
    return version


def _metadata(line: str) -> tuple[int | None, int | None, _Configuration]:
    """Parse a batch's timestamp and watermark, in milliseconds, and the configuration recorded with it."""
    written = _AS_WRITTEN.fullmatch(line)
    if written is not None:
        with suppress(GarbledError):  # raised for the whole line, below
            return int(written[2]), int(written[1]), _recorded(written[3])
    if not line.strip():
        return None, None, ()
    value = _json(line)
    if not isinstance(value, dict):
        raise GarbledError("expected a JSON object as the batch's metadata, found another JSON value")
    return (
        _optional_int(value, "batchTimestampMs"),
        _optional_int(value, "batchWatermarkMs"),
        _configuration(value.get("conf")),
    )


@lru_cache(maxsize=64)
def _recorded(text: str) -> _Configuration:
    return _configuration(_json(text))


def _optional_int(metadata: Mapping[str, Any], key: str) -> int | None:
    value = metadata.get(key)
    if value is None:
        return None
    if type(value) is not int or not -(2**63) <= value <= INT64_MAX:
        raise GarbledError(f"expected a 64-bit integer as {key}, found {str(value)[:40]!r}")
    return value


def _configuration(conf: Any) -> _Configuration:
    if conf is None:
        return ()
    if not isinstance(conf, dict) or not set(map(type, conf.values())) <= {str}:
        raise GarbledError("expected the recorded configuration as texts, found another JSON value")
    return tuple(sorted(conf.items()))


def _json(text: str) -> Any:
    _check_size(text)
    try:
        return _STRICT.decode(text)
    except GarbledError:
        raise
    except RecursionError as error:
        raise GarbledError("expected JSON, found it nested too deeply") from error
    except ValueError as error:
        raise GarbledError(f"expected JSON, found {text[:60]!r} ({str(error)[:80]})") from error


def _offsets_json(text: str) -> Any:
    """Parse JSON as `_json` does, but objects of objects of numbers without a call for each.

    A string has two quotes. If the text has as many quotes as the parsed keys need, there is no other string in it, so
    no key is duplicated. For any other text, `_json` decides.
    """
    _check_size(text)
    try:
        value, end = _PLAIN.raw_decode(text)
    except (ValueError, RecursionError):
        return _json(text)
    if end != len(text) or not isinstance(value, dict) or set(map(type, value.values())) != {dict}:
        return _json(text)
    keys = len(value) + sum(map(len, value.values()))
    return value if text.count('"') == 2 * keys else _json(text)


def _check_size(text: str) -> None:
    if len(text) < _SMALL:
        return
    try:
        check_size(text.encode("utf-8"), most=MAX_VALUES)
    except ValueError as error:
        raise GarbledError(f"expected offsets of some partitions, found that {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    results = dict(pairs)
    if len(results) != len(pairs):
        raise GarbledError("expected each key once, found one twice in a JSON object")
    return results


def _no_constant(text: str) -> Any:
    raise GarbledError(f"expected a number, found {text}")


_STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_PLAIN: Final = json.JSONDecoder(parse_constant=_no_constant)
