"""Each shape is recognised, read as its system means it, and printed back byte by byte; what cannot be used is said."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from offsetwise import files
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.rows import encode
from offsetwise.errors import CheckpointError, NotACheckpointError, OffsetwiseError
from offsetwise.model import Checkpoint
from offsetwise.pipeline.fleet_rows import decode
from offsetwise.plugins.positions.engine.shape import Row
from offsetwise.plugins.positions.engine.shapes import SHAPES, named
from tests.commands import call
from tests.gates import PART
from tests.plugins.positions.shapes import BOTH, DOCUMENTED, EXAMPLES, At, segment
from tests.with_cases import with_cases

HIGHEST: Final = 2**63 - 1
ROWS: Final = 1_000_000


def written(folder: Path, text: str | bytes, part: str = "") -> str:
    """Write a positions file, and return its URI."""
    (folder / "positions").write_bytes(text if isinstance(text, bytes) else text.encode())
    return f"{folder / 'positions'}{part and '#' + part}"


def read_positions(read: Checkpoint) -> tuple[At, ...]:
    """Return every position with its group."""
    return tuple(
        (named(source.id)[1], at.topic, at.partition, int(str(at.offset)))
        for source in read.sources
        for at in source.positions
    )


@with_cases("name", EXAMPLES)
def test_a_file_is_read_as_its_system_means_it(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    read = read_checkpoint(written(tmp_path, example.text, example.part))

    assert sorted(read_positions(read)) == sorted(example.positions)
    assert {named(source.id)[0] for source in read.sources} == {example.shape}
    assert (read.engine, read.problems) == ("positions", ())
    assert f"in the shape {example.shape}" in read.restart


@with_cases("name", EXAMPLES)
def test_it_is_printed_back_byte_by_byte_where_its_system_takes_offsets(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    shape = SHAPES[example.shape]
    read = read_checkpoint(written(tmp_path, example.text, example.part))

    if shape.text is None:
        assert shape.name in ("pinot-segments", "mirror-checkpoints")
        assert shape.use is None
    else:
        rows = sorted(Row(*at) for at in read_positions(read))
        assert shape.text(rows) == (example.text if example.printed is None else example.printed)


@with_cases("name", DOCUMENTED)
def test_the_example_of_a_systems_documentation_is_read_as_it_says(name: str, tmp_path: Path) -> None:
    example = DOCUMENTED[name]
    read = read_checkpoint(written(tmp_path, example.text, example.part))

    assert read_positions(read) == example.positions
    assert {named(source.id)[0] for source in read.sources} == {example.shape}


def test_printed_positions_are_read_as_they_were_printed(tmp_path: Path) -> None:
    chosen = Random(7)
    for shape in SHAPES.values():
        if shape.text is None:
            continue
        rows = sorted(Row("", "orders", at, chosen.randrange(HIGHEST + 1)) for at in chosen.sample(range(2**31), 50))
        text = shape.text(rows)

        read = read_checkpoint(written(tmp_path, text, shape.name))

        assert sorted(read_positions(read)) == rows
        assert shape.text(sorted(Row(*at) for at in read_positions(read))) == text


@with_cases("name", EXAMPLES)
def test_it_comes_back_from_a_worker_and_from_its_file_as_it_was(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    read = read_checkpoint(written(tmp_path, example.text, example.part))

    assert decode(encode(read), subject=name) == read
    assert files.load(files.dump(read), "checkpoint", subject="it") == read


def test_inspect_reads_a_file_in_words_and_as_json(tmp_path: Path) -> None:
    uri = written(tmp_path, EXAMPLES["a group exported"].text)
    shown = call("inspect", uri).out
    told = json.loads(call("inspect", uri, "--json").out)

    assert "The file has 2 positions in 1 topic, in the shape kafka-consumer-groups-csv" in " ".join(shown.split())
    assert "orders-0     1,050" in shown
    assert [(at["partition"], at["offset"]) for at in told["sources"][0]["positions"]] == [(0, "1050"), (1, "950")]


@with_cases("name", EXAMPLES)
def test_inspect_reads_a_file_of_every_shape(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    told = json.loads(call("inspect", written(tmp_path, example.text, example.part), "--json").out)

    offsets = [int(at["offset"]) for source in told["sources"] for at in source["positions"]]
    assert sorted(offsets) == sorted(at[3] for at in example.positions)


def test_a_file_that_two_shapes_fit_is_refused_with_both_names(tmp_path: Path) -> None:
    uri = written(tmp_path, EXAMPLES["offsets-json"].text)

    error = call("inspect", uri, "--json").refused()

    assert error["problem"] == (
        f"{uri}: expected a file of one shape, found one that offsets-json and spark-starting-offsets fit. No position "
        "was used."
    )
    assert f"{uri}#offsets-json" in error["fix"]


@with_cases("part", ["positions:hudy", "positions:hudy:orders", "hudy"])
def test_a_shape_that_is_not_known_is_refused_with_those_that_are(part: str, tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match=r"expected one of the shapes offsets-json, .*, found 'hudy'"):
        read_checkpoint(written(tmp_path, EXAMPLES["hudi"].text, part))


@with_cases(("text", "found"), [("", "an empty file"), ("\n \n", "an empty file"), ("hello", "looks like none")])
def test_a_file_of_no_shape_is_refused(text: str, found: str, tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match=found) as caught:
        read_checkpoint(written(tmp_path, text, "positions"))
    assert "docs/positions.md" in caught.value.fix


JSON: Final = "offsets-json"
CSV: Final = "kafka-consumer-groups-csv"
BAD: Final[list[tuple[str, str, str]]] = [
    (JSON, '{"orders":{"0":1050.0}}', "found the number 1050.0, only integers are used"),
    (JSON, '{"orders":{"0":1e3}}', "found the number 1e3"),
    (JSON, '{"orders":{"0":9223372036854775808}}', "9223372036854775808 does not fit 64 bits"),
    (JSON, '{"orders":{"0":-5}}', "expected the offset of orders-0, a whole number from 0 to .*, found '-5'"),
    (JSON, '{"orders":{"0":1,"0":2}}', "the key '0' appears twice"),
    (JSON, '{"orders":{"0":1050', "Expecting"),
    (JSON, '{"orders":{"00":1}}', "expected a partition of orders, .*, found '00'"),
    (JSON, '{"orders":{"2147483648":1}}', "a whole number from 0 to 2147483647"),
    (JSON, '{"or ders":{"0":1}}', "expected the name of a topic, found 'or ders'"),
    (JSON, '{"orders":{"0":true}}', "found 'True'"),
    (JSON, '{"orders":{"0":null}}', "found 'None'"),
    (JSON, '{"orders":[1050]}', "expected the partitions of orders, an object of offsets by partition"),
    (JSON, "{}", "expected at least one position, found none"),
    (JSON, "[]", "expected an object of topics"),
    ("spark-starting-offsets", '{"orders":{"0":-1}}', "found -1, which is latest and no position"),
    # The example of Spark's documentation
    ("spark-starting-offsets", '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}', "topicA-1, .* latest and no position"),
    ("spark-starting-offsets", '{"orders":{"0":-2}}', "found -2, which is earliest and no position"),
    (CSV, "orders,0,1050.5\n", "line 1: expected the offset of orders-0, .*, found '1050.5'"),
    (CSV, "orders,0,9223372036854775808\n", "line 1: .*found '9223372036854775808'"),
    (CSV, "orders,0,1\norders,0,2\n", "expected each partition once, found orders-0 at 1 and at 2"),
    (CSV, "orders,0,-1\n", "found '-1'"),
    (CSV, "orders,0,\n", "found ''"),
    (CSV, "orders,0,1\netl,orders,1,2\n", "line 2: expected topic,partition,offset or the group in front, found 4"),
    (CSV, "orders,0\n", "line 1: .*, found 2 cells"),
    (CSV, "topic,partition,offset\norders,0,1\n", "line 1: expected .*, found the names of the columns"),
    (CSV, "GROUP,TOPIC,PARTITION,CURRENT-OFFSET\n", "line 1: expected .*, found the names of the columns"),
    ("pinot-segments:o", '{"{x}__0__1__T":{"segment.realtime.status":"DONE"}}', "endOffset of {x}__0__1__T, .*None"),
    (CSV, 'orders,0,"1\n', "line 1: unexpected end of data"),
    (CSV, "a/b,orders,0,1\n", "expected the name of a group of up to 255 characters without slashes, found 'a/b'"),
    (f"{CSV}:etl", "other,orders,0,1\n", "expected lines of the group 'etl', found 'other'"),
    ("connect-offsets", '{"offsets":[]}', "expected at least one position, found none"),
    ("connect-offsets", '{"offsets":[{"partition":{"file":"a"},"offset":{"position":1}}]}', "found file"),
    (
        "connect-offsets",
        '{"offsets":[{"partition":{"kafka_partition":0,"kafka_topic":"orders"},"offset":null}]}',
        "expected the offset of orders-0, an object with kafka_offset, found None",
    ),
    ("druid-supervisor", '{"id":"a","payload":{"latestOffsets":{"0":1}}}', "found the status of a supervisor"),
    (
        "druid-supervisor",
        '{"type":"kafka","partitions":{"type":"end","stream":"a|b","partitionOffsetMap":{"a:0":1}}}',
        "expected the partitions of one topic, found 'a:0' of a topicPattern",
    ),
    ("druid-supervisor", '{"type":"kinesis","partitions":{}}', "expected the end offsets of type kafka"),
    (
        "druid-supervisor",
        '{"type":"kafka","partitions":{"stream":"orders","partitionOffsetMap":{"0":1},'
        '"partitionSequenceNumberMap":{"0":2}}}',
        "and the same in topic and partitionSequenceNumberMap",
    ),
    ("pinot-segments", json.dumps(segment(0, 0, start=0, end=5)), "expected the topic as pinot-segments:TOPIC"),
    ("pinot-segments:orders", '{"_segmentToConsumingInfoMap":{}}', "rows in the servers' memory"),
    ("pinot-segments:orders", json.dumps(segment(10_003, 0, start=0, end=5)), "partition group 10003 of another one"),
    ("pinot-segments:orders", '{"orders_OFFLINE_0":{"segment.crc":"1"}}', "found 'orders_OFFLINE_0' None"),
    (
        "pinot-segments:orders",
        json.dumps([segment(0, 3, start=0, end=5), segment(0, 3, start=0, end=9)]),
        "expected each segment once, found orders__0__3__20220301T1504Z at 5 and at 9",
    ),
    (
        "pinot-segments:orders",
        json.dumps({name: segment(0, 3, start=0, end=5) for name in ("a__0__3__T", "b__0__4__T")}),
        "expected the segments of one table, found a and b",
    ),
    (
        "pinot-segments:orders",
        json.dumps([segment(0, 3, start=0, end=5), "orders__1__0__T"]),
        "DONE or IN_PROGRESS, found 'orders__1__0__T' None",
    ),
    (
        "pinot-segments:orders",
        json.dumps(segment(0, 3, start=0, end=5) | {"segment.realtime.status": "COMMITTING"}),
        "DONE or IN_PROGRESS, found .* 'COMMITTING'",
    ),
    (
        "kafka-consumer-groups-csv",
        "orders,0,1050\norders,1,95",
        "expected a line break behind the last line, found none",
    ),
    ("kafka-consumer-groups-csv", "etl,orders,0,1050\netl,orders,1,9", "expected a line break behind the last line"),
    (
        "positions",
        "\nGROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG\netl  orders  0  1,050  1,100  50\n",
        "found the table that the tool prints without --export",
    ),
    ("positions", "GROUP TOPIC PARTITION NEW-OFFSET\netl orders 0 1050\n", "prints without --export"),
    (
        "mirror-checkpoints",
        "Checkpoint{consumerGroupId=a, topicPartition=orders-0, upstreamOffset=1, downstreamOffset=1, metadata=b, "
        "topicPartition=orders-1, upstreamOffset=9, downstreamOffset=9, metadata=}",
        "line 1: expected Checkpoint",
    ),
    ("hudi", "orders,0:1050,1", "expected PARTITION:OFFSET, found '1'"),
    ("hudi", "orders,0:1,0:2", "found orders-0 at 1 and at 2"),
    ("flink-specific-offsets:orders", "partition:0,offset:1;partition:0,offset:2", "found orders-0 at 1 and at 2"),
    (
        "connect-offsets",
        '{"offsets":['
        + ",".join(
            f'{{"partition":{{"kafka_topic":"orders","kafka_partition":0}},"offset":{{"kafka_offset":{offset}}}}}'
            for offset in (1, 2)
        )
        + "]}",
        "found orders-0 at 1 and at 2",
    ),
    (
        "druid-supervisor",
        '{"type":"kafka","partitions":{"type":"end","stream":"orders","partitionOffsetMap":{"0":1,"0":2}}}',
        "the key '0' appears twice",
    ),
    ("hudi", "orders", "expected at least one position, found none"),
    ("hudi:orders", "orders,0:1", "the shape is named alone"),
    ("flink-specific-offsets", "partition:0,offset:42", "found 0 topics"),
    ("flink-specific-offsets:orders", "partition:0,offset:42;partition:1", "found 'partition:1'"),
    ("flink-specific-offsets:orders", "partition:0,offset:-1", "found '-1'"),
    ("mirror-checkpoints", "Checkpoint{consumerGroupId=etl}", "line 1: expected Checkpoint"),
    (
        "mirror-checkpoints:old.",
        "Checkpoint{consumerGroupId=a, topicPartition=orders-0, upstreamOffset=1, downstreamOffset=1, metadata=}",
        "topicPartition=old.",
    ),
    (
        "mirror-checkpoints",
        "Checkpoint{consumerGroupId=a, topicPartition=orders-0, upstreamOffset=-1, downstreamOffset=1, metadata=}",
        "expected the upstreamOffset of orders-0, .*found '-1'",
    ),
]


@with_cases(("part", "text", "found"), BAD, ids=[f"{part} {text[:40]}" for part, text, _ in BAD])
def test_what_cannot_be_used_is_said_and_nothing_of_the_file_is_used(
    part: str, text: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match=found) as caught:
        read_checkpoint(written(tmp_path, text, part))

    assert caught.value.problem.endswith("No position was used.")
    assert caught.value.fix == SHAPES[named(part)[0] or "kafka-consumer-groups-csv"].take


@with_cases("bad", ["1050.5", "1.05e3", "9223372036854775808", "-3", "١٠٥٠", "0x41a"])
@with_cases("name", [name for name, example in EXAMPLES.items() if any(at[3] == 1050 for at in example.positions)])
def test_what_is_no_offset_is_refused_in_every_shape(name: str, bad: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    assert "1050" in example.text

    with pytest.raises(CheckpointError, match="No position was used"):
        read_checkpoint(written(tmp_path, example.text.replace("1050", bad), example.part or example.shape))


@with_cases("name", EXAMPLES)
def test_a_file_that_is_cut_or_changed_is_refused_or_read_as_it_stands(name: str, tmp_path: Path) -> None:
    """No exception but ours, and no position that is not in the text."""
    example, chosen = EXAMPLES[name], Random(name)
    data = example.text.encode()
    mutants = [data[:length] for length in range(0, len(data), 1 + PART // 4)]
    for _ in range(1000 // PART):
        changed = bytearray(data)
        changed[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
        mutants.append(bytes(changed))
    for mutant in mutants:
        try:
            read = read_checkpoint(written(tmp_path, mutant, example.part or "positions"))
        except OffsetwiseError:
            continue
        for _, _, partition, offset in read_positions(read):
            assert str(partition).encode() in mutant
            assert str(offset).encode() in mutant


@with_cases(
    "encoded",
    [
        lambda text: gzip.compress(text.encode()),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    ],
    ids=["gzip", "byte order mark", "as PowerShell saves it"],
)
def test_a_file_is_read_in_gzip_and_with_a_byte_order_mark(encoded: Any, tmp_path: Path) -> None:
    uri = written(tmp_path, encoded(EXAMPLES["a group exported"].text))

    assert read_positions(read_checkpoint(uri)) == BOTH


def test_a_file_of_damaged_gzip_is_refused(tmp_path: Path) -> None:
    uri = written(tmp_path, gzip.compress(b"orders,0,1050\n")[:-4], "positions")

    with pytest.raises(CheckpointError, match="its gzip is cut"):
        read_checkpoint(uri)


_READ: Final = """
import sys
from pathlib import Path
from offsetwise.engines.checkpoint import read_checkpoint
read = read_checkpoint(sys.argv[1])
status = Path("/proc/self/status").read_text().splitlines()
print(sum(len(source.positions) for source in read.sources), *(line.split()[1] for line in status if "VmHWM" in line))
"""
"""Prints the positions and the KiB that were resident at most: what `getrusage` tells begins with its parent's."""


def _million(kind: str) -> str:
    if kind == CSV:
        return "".join(f"orders-{at // 1000:04d},{at % 1000},{at * 1_000_003}\n" for at in range(ROWS))
    if kind == "hudi":
        return "orders," + ",".join(f"{at}:{at * 1_000_003}" for at in range(ROWS))
    topics = {f"orders-{t:04d}": {str(at): (t * 1000 + at) * 1_000_003 for at in range(1000)} for t in range(1000)}
    return json.dumps(topics)


@pytest.mark.gates
@with_cases("kind", [CSV, "hudi", JSON])
def test_a_million_rows_are_read_within_512_megabytes(kind: str, tmp_path: Path, figure: Any) -> None:
    uri = written(tmp_path, _million(kind), kind)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    done = subprocess.run([sys.executable, "-c", _READ, uri], check=True, capture_output=True, text=True)

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows, kibibytes = map(int, done.stdout.split())
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figure(f"1,000,000 positions of {kind} read: {spent:.1f} s of processor time, {kibibytes // 1024} MB")
    assert rows == ROWS
    assert kibibytes <= 512 * 1024
