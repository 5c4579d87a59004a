"""Shapes in lines of text.

Formats: `kafka-consumer-groups --reset-offsets --export` (`ConsumerGroupCommand.exportOffsetsToCsv`: the group's
committed offsets, the next record to read; with several groups each line begins with the group); Hudi's checkpoint of a
Kafka source (`KafkaOffsetGen.CheckpointUtils.offsetsToStr`: `OffsetRange.untilOffset`, which is exclusive); Flink's
options `scan.startup.specific-offsets` and `topic` of a table (`KafkaConnectorOptionsUtil.parseSpecificOffsets`,
inclusive); the text of MirrorMaker's checkpoints (`Checkpoint.toString`, as `CheckpointFormatter` of the console
consumer prints it: `upstreamOffset` is the group's commit on the old cluster).

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from shlex import quote
from typing import Final

from offsetwise.plugins.positions.engine.json_shapes import refuse_word
from offsetwise.plugins.positions.engine.shape import (
    MAX_PARTITION,
    Row,
    Shape,
    group_name,
    number,
    one_topic,
    topic_name,
)
from offsetwise.position import HIGHEST_OFFSET

_CSV: Final = re.compile(
    rb'\s*("[^"\r\n]*"|[^",={}\r\n]+)(,("[^"\r\n]*"|[^",:\r\n]*))?(,"?[-+]?[0-9][0-9.eE+_]*"?){2}\s*(\r?\n|\Z)'
)
"""A first line that ends with two numbers."""
_NAMES_OF_COLUMNS: Final = re.compile(rb"\s*([a-z_]+,)?topic,partition,[a-z_-]+\s*(\r?\n|\Z)", re.IGNORECASE)
"""A first line that the tool does not write, but people do."""
_TABLE: Final = re.compile(rb"\s*(GROUP\s+)?TOPIC\s+PARTITION\s+(CURRENT|NEW)-OFFSET\b")
"""What the tool prints for people: by `--describe`, and by `--reset-offsets` without `--export`."""
_HUDI: Final = re.compile(rb"\s*[a-zA-Z0-9._-]+,[^,:\s]*:[^,:\s]*\s*(,|\Z)")
_FLINK: Final = re.compile(rb"scan\.startup\.specific-offsets|\s*partition:")
_OPTION: Final = re.compile(r"'(topic|scan\.startup\.specific-offsets)'\s*=\s*'([^']*)'")
_SPECIFIC: Final = re.compile(r"\s*partition:([^,;]*),offset:([^,;]*)")
_CHECKPOINT: Final = re.compile(
    r"Checkpoint\{consumerGroupId=(.*), topicPartition=([a-zA-Z0-9._-]{1,249})-([0-9]{1,10}), "
    r"upstreamOffset=(-?[0-9]{1,20}), downstreamOffset=-?[0-9]{1,20}, meta(?:ta)?data=.*\}"
)
_OF_PARTITION: Final = ", topicPartition="
"""A line that has it in a group's name or a metadata, too, can be read in two ways."""
_PLAIN_TO: Final = 24
"""Number of characters up to which Jackson checks whether a value needs quotes; longer ones are always quoted."""
_FIRST_PLAIN: Final = "-"
"""A value with a character below this one is quoted (`CsvEncoder._mayNeedQuotes` with a comma between values)."""


def _columns(data: bytes, word: str) -> Iterator[Row]:
    """Parse `topic,partition,offset` or `group,topic,partition,offset`; with a WORD only the lines of that group."""
    _refuse_other_texts(data)
    reading = csv.reader(StringIO(data.decode(), newline=""), strict=True)
    width, topics, groups = 0, dict[str, str](), dict[str, str]()
    try:
        for cells in reading:
            if not cells:
                continue
            width = width or len(cells)
            if len(cells) != width or width not in (3, 4):
                raise ValueError(f"expected topic,partition,offset or the group in front, found {len(cells):,} cells")
            *of_group, topic, partition, offset = cells
            if topic not in topics:
                topics[topic] = topic_name(topic)
            group = of_group[0] if of_group else ""
            if of_group and group not in groups:
                groups[group] = group_name(group)
            at = number(partition, "a partition of {}", MAX_PARTITION, topic)
            value = number(offset, "the offset of {}-{}", HIGHEST_OFFSET, topic, partition)
            if word in ("", group):
                yield Row(group, topics[topic], at, value)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {reading.line_num:,}: {error}") from error
    if word and word not in groups:
        raise ValueError(f"expected lines of the group {word!r}, found {', '.join(map(repr, groups)) or 'no group'}")


def _refuse_other_texts(data: bytes) -> None:
    if _NAMES_OF_COLUMNS.match(data):
        raise ValueError("line 1: expected topic,partition,offset of a position, found the names of the columns")
    if _TABLE.match(data):
        raise ValueError("expected topic,partition,offset, found the table that the tool prints without --export")
    if data.strip() and not data.endswith((b"\n", b"\r")):
        # The tool ends every line: of one that is cut, the digits that are left are another offset.
        raise ValueError("expected a line break behind the last line, found none: the file may be cut")


def _quoted(text: str) -> str:
    """Quote a value as Kafka's tool does, which uses Jackson."""
    if len(text) > _PLAIN_TO or min(text, default=_FIRST_PLAIN) < _FIRST_PLAIN:
        escaped = text.replace('"', '""')
        return f'"{escaped}"'
    return text


def _print_columns(rows: Sequence[Row]) -> str:
    return "".join(
        f"{_quoted(row.group) + ',' if row.group else ''}{_quoted(row.topic)},{row.partition},{row.offset}\n"
        for row in rows
    )


def _from_file(name: str, groups: Sequence[str]) -> str:
    """Return the command; the tool expects the column of groups unless exactly one `--group` is given."""
    named = " ".join(f"--group {quote(group)}" for group in groups) if len(groups) > 1 else "--all-groups"
    return (
        f"kafka-consumer-groups --bootstrap-server NEW --reset-offsets {named if groups else '--group GROUP'} "
        f"--from-file {quote(name)} --execute"
    )


def _hudi(data: bytes, word: str) -> Iterator[Row]:
    refuse_word(word)
    name, *parts = data.decode().strip().split(",")
    topic = topic_name(name)
    for part in parts:
        partition, colon, offset = part.partition(":")
        if not colon:
            raise ValueError(f"expected PARTITION:OFFSET, found {part[:60]!r}")
        at = number(partition, f"a partition of {topic}", MAX_PARTITION)
        yield Row("", topic, at, number(offset, f"the offset of {topic}-{partition}"))


def _print_hudi(rows: Sequence[Row]) -> str:
    return ",".join([one_topic(rows, "hudi"), *(f"{row.partition}:{row.offset}" for row in rows)]) + "\n"


def _flink(data: bytes, word: str) -> Iterator[Row]:
    text = data.decode()
    options: dict[str, set[str]] = {}
    for name, value in _OPTION.findall(text):
        options.setdefault(name, set()).add(value)
    topics = options.get("topic", set()) | ({word} if word else set())
    offsets = options.get("scan.startup.specific-offsets") or {text.strip()}
    if len(topics) != 1 or len(offsets) != 1:
        raise ValueError(
            "expected one 'topic' beside one 'scan.startup.specific-offsets', or flink-specific-offsets:TOPIC, found "
            f"{len(topics):,} topics and {len(offsets):,} lists of offsets"
        )
    (name,), (listed,) = topics, offsets
    topic = topic_name(name)
    for part in listed.removesuffix(";").split(";"):
        match = _SPECIFIC.fullmatch(part)
        if match is None:
            raise ValueError(f"expected partition:PARTITION,offset:OFFSET, found {part[:60]!r}")
        at = number(match[1], f"a partition of {topic}", MAX_PARTITION)
        yield Row("", topic, at, number(match[2], f"the offset of {topic}-{match[1]}"))


def _print_flink(rows: Sequence[Row]) -> str:
    topic = one_topic(rows, "flink-specific-offsets")
    offsets = ";".join(f"partition:{row.partition},offset:{row.offset}" for row in rows)
    return (
        f"'topic' = '{topic}',\n'scan.startup.mode' = 'specific-offsets',\n"
        f"'scan.startup.specific-offsets' = '{offsets}'\n"
    )


def _checkpoints(data: bytes, word: str) -> Iterator[Row]:
    """Parse lines of checkpoints; a later line of a partition replaces an earlier one.

    MirrorMaker writes the topic's name on the new cluster: the WORD is the prefix before the old name.
    """
    newest: dict[tuple[str, str, int], int] = {}
    for line_number, line in enumerate(data.decode().splitlines(), start=1):
        if not line.strip():
            continue
        match = _CHECKPOINT.fullmatch(line.strip())
        try:
            if match is None or not match[2].startswith(word) or line.count(_OF_PARTITION) > 1:
                raise ValueError(
                    f"expected Checkpoint{{consumerGroupId=…, topicPartition={word}…, upstreamOffset=…, "
                    f"downstreamOffset=…, metadata=…}}, found {line.strip()[:80]!r}"
                )
            topic = topic_name(match[2].removeprefix(word))
            at = number(match[3], f"a partition of {topic}", MAX_PARTITION)
            offset = number(match[4], f"the upstreamOffset of {topic}-{at}")
            newest[group_name(match[1]), topic, at] = offset
        except ValueError as error:
            raise ValueError(f"line {line_number:,}: {error}") from error
    for (group, topic, at), offset in newest.items():
        yield Row(group, topic, at, offset)


GROUPS: Final = Shape(
    name="kafka-consumer-groups-csv",
    title="what kafka-consumer-groups --export prints",
    fits=lambda data: any(first.match(data) for first in (_CSV, _NAMES_OF_COLUMNS, _TABLE)),
    rows=_columns,
    take="Take it again: kafka-consumer-groups --bootstrap-server OLD --reset-offsets --to-current --all-topics "
    "--group GROUP --export > FILE, while the group has no member.",
    text=_print_columns,
    use=_from_file,
)
HUDI: Final = Shape(
    name="hudi",
    title="Hudi's checkpoint of a Kafka source",
    fits=lambda data: _HUDI.match(data) is not None,
    rows=_hudi,
    take="Take deltastreamer.checkpoint.key (streamer.checkpoint.key.v2 since 1.0) of the newest completed commit "
    "below .hoodie: TOPIC,PARTITION:OFFSET,PARTITION:OFFSET",
    text=_print_hudi,
    use=lambda name, groups: f'the option --checkpoint "$(cat {quote(name)})" of HoodieStreamer',  # noqa: ARG005 - as above
)
FLINK: Final = Shape(
    name="flink-specific-offsets",
    title="the specific offsets of a table of Flink",
    fits=lambda data: _FLINK.search(data) is not None,
    rows=_flink,
    take="Write 'topic' = 'TOPIC' and 'scan.startup.specific-offsets' = 'partition:0,offset:42'.",
    text=_print_flink,
    use=lambda name, groups: f"the options in {name}, in WITH (…) of the table; no savepoint",  # noqa: ARG005 - as above
)
MIRROR: Final = Shape(
    name="mirror-checkpoints",
    title="the checkpoints of MirrorMaker as its formatter prints them",
    fits=lambda data: data.lstrip().startswith(b"Checkpoint{consumerGroupId="),
    rows=_checkpoints,
    take="Take them again: kafka-console-consumer --bootstrap-server NEW --topic OLD.checkpoints.internal "
    "--from-beginning --formatter org.apache.kafka.connect.mirror.formatters.CheckpointFormatter; and name what "
    "stands in front of the old topics' names: --shape mirror-checkpoints:OLD.",
)
