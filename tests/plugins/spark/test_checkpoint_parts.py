"""The small pieces of the checkpoint reader."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import TopicOffsets, offsets_by_partition
from offsetwise.plugins.spark.engine.offset_log import (
    GarbledError,
    SourceOffset,
    checksum_fits,
    parse_offsets,
    parse_source,
)
from offsetwise.plugins.spark.engine.restart import decide_restart
from tests.plugins.spark.folders import crc_of
from tests.with_cases import with_cases

IDS = st.lists(st.integers(0, 12), unique=True).map(sorted)


@given(st.binary(max_size=2000), st.binary(max_size=2000))
def test_a_checksum_fits_its_own_bytes_and_no_others(data: bytes, other: bytes) -> None:
    assert checksum_fits(data, crc_of(data))
    assert checksum_fits(other, crc_of(data)) == (other == data)


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True),
        st.dictionaries(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    )
)
def test_every_offset_kafka_can_write_is_read_as_it_is(offsets: dict[str, dict[int, int]]) -> None:
    inner = [
        f'"{topic}":{{' + ",".join(f'"{p}":{o}' for p, o in found.items()) + "}" for topic, found in offsets.items()
    ]

    parsed = parse_source("0", "{" + ",".join(inner) + "}")

    assert parsed.offsets == tuple(
        TopicOffsets(topic=topic, partitions=tuple(found), offsets=tuple(found.values()))
        for topic, found in offsets.items()
    )
    assert list(offsets_by_partition(parsed.offsets).items()) == [
        ((topic, partition), offset) for topic, found in offsets.items() for partition, offset in found.items()
    ]
    assert (parsed.kind, parsed.damage, parsed.negative) == ("kafka", None, ())


@given(st.text(max_size=60) | st.from_regex(r'\{"[a-z]":\{"[0-9]":[0-9eE.+\-]{1,25}\}\}', fullmatch=True))
def test_no_text_gives_a_number_beyond_its_bounds(text: str) -> None:
    for (_, partition), offset in offsets_by_partition(parse_source("0", text).offsets).items():
        assert 0 <= offset < 2**63
        assert 0 <= partition < 2**31


@with_cases(
    "text",
    [
        '{"t":{"0":1,"1":2,"0":3}}',
        '{"t":{"0":3,"0":3}}',
        '{"t":{"0":1},"u":{"0":1},"t":{"0":2}}',
        '{"t":{"0":"x"},"t":{"0":2}}',
        '{"t":{"0":{"a":1}},"t":{"0":2}}',
        '{"t":{"0":NaN},"t":{"0":2}}',
        r'{"t":{"0":1,"\u0030":3}}',
        '{"t":{"0":1.0}}',
        '{"t":{"0":1e3}}',
        '{"t":{"0":1.0,"0":1}}',
        '{"t":{"0":true}}',
        '{"t":{"0":null}}',
        '{"t":{"0":"7"}}',
        '{"t":{"0":9223372036854775808}}',
        '{"t":{"0":-9223372036854775809}}',
        '{"t":{"0":1,"00":1}}',
        '{"t":{"0":1,"01":1}}',
        '{"t":{"0":1,"+1":1}}',
        '{"t":{"0":1," 1":1}}',
        '{"t":{"0":1,"-1":1}}',
        '{"t":{"0":1,"2147483648":1}}',
        '{"t":{"0":1,"١":1}}',
        '{"t":{"0":1},"u":7}',
        r'{"t":{"0":1},"\"":{"0":1}}',
    ],
)
def test_a_line_that_could_be_read_in_two_ways_is_damaged_and_gives_no_number(text: str) -> None:
    parsed = parse_source("0", text)

    assert parsed.damage is not None
    assert (parsed.offsets, parsed.negative, parsed.raw) == ((), (), None)


KEYS = st.sampled_from(["0", "1", "t", "u", r"\u0030", r"\""])
OBJECTS = st.recursive(
    st.sampled_from(["0", "7", '"0"', r'"\""', "null", "[]", "1.5"]),
    lambda inner: st.lists(st.tuples(KEYS, inner), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"
    ),
    max_leaves=8,
)


@given(OBJECTS)
def test_a_key_that_stands_twice_anywhere_is_damage(text: str) -> None:
    twice = False

    def look(pairs: list[tuple[str, object]]) -> None:
        nonlocal twice
        twice = twice or len({key for key, _ in pairs}) < len(pairs)

    json.loads(text, object_pairs_hook=look)

    if twice:
        assert "twice" in str(parse_source("0", text).damage)


def batch_with(metadata: str) -> bytes:
    return f'v1\n{metadata}\n{{"t":{{"0":1}}}}'.encode()


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.just('"},"x":{'), max_size=3))
def test_a_configuration_is_read_alike_however_its_line_is_written(conf: dict[str, str]) -> None:
    metadata = {"batchWatermarkMs": 7, "batchTimestampMs": 1795229355292, "conf": conf}

    as_spark, spaced = (
        parse_offsets(batch_with(json.dumps(metadata, separators=each))) for each in ((",", ":"), (", ", ": "))
    )

    assert as_spark == spaced
    head, _ = as_spark
    assert (head.watermark_ms, head.timestamp_ms) == (7, 1795229355292)
    assert head.configuration == tuple(sorted(conf.items()))


@with_cases(
    ("metadata", "said"),
    [
        ('{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{},"conf":{}}', "twice"),
        ('{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"a":"1","a":"2"}}', "twice"),
        ('{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"a":1}}', "as texts"),
        ('{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"a":"1"}}}', "expected JSON"),
        ('{"batchWatermarkMs":00,"batchTimestampMs":1,"conf":{}}', "expected JSON"),
        ('{"batchWatermarkMs":0,"batchTimestampMs":9223372036854775808,"conf":{}}', "64-bit"),
    ],
)
def test_metadata_that_could_be_read_in_two_ways_is_damage(metadata: str, said: str) -> None:
    with pytest.raises(GarbledError, match=said):
        parse_offsets(batch_with(metadata))


def test_what_a_later_spark_adds_to_the_metadata_is_passed_over() -> None:
    found, _ = parse_offsets(batch_with('{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"a":"b"},"new":{"a":1}}'))

    assert (found.watermark_ms, found.timestamp_ms, found.configuration) == (0, 1, (("a", "b"),))


def test_numbers_below_zero_stand_apart_and_the_order_of_the_rest_is_kept() -> None:
    parsed = parse_source("0", '{"b":{"10":7,"2":-2,"4097":1,"0":9},"a":{"0":-1},"c":{}}')

    assert parsed == SourceOffset(
        id="0",
        kind="kafka",
        offsets=(TopicOffsets(topic="b", partitions=(10, 4097, 0), offsets=(7, 1, 9)),),
        negative=(("b", 2, -2), ("a", 0, -1)),
    )


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 partitions have 1 offsets"):
        TopicOffsets(topic="t", partitions=(0, 1), offsets=(7,))


@given(IDS, IDS)
def test_a_start_is_the_end_of_a_batch_whose_file_is_there(planned: list[int], committed: list[int]) -> None:
    restart = decide_restart(planned, committed)

    assert restart.starts_after is None or restart.starts_after in planned
    assert not (restart.from_initial and restart.starts_after is not None)
    assert restart.reruns is None or (restart.reruns == planned[-1] and restart.reruns not in committed)
    if planned and committed and planned[-1] == committed[-1]:
        assert (restart.starts_after, restart.reruns) == (planned[-1], None)
    if not restart.known:
        assert any(problem.code == "CHECKPOINT_DAMAGED" for problem in restart.problems)
    if restart.starts_after is not None and restart.starts_after not in committed:
        damaged = any(problem.code == "CHECKPOINT_DAMAGED" for problem in restart.problems)
        assert damaged or restart.starts_after in restart.uncommitted


@given(st.integers(0, 50), st.integers(0, 5), st.booleans())
def test_what_spark_writes_when_nothing_goes_wrong_has_no_problem(first: int, more: int, pending: bool) -> None:
    last = first + more + 1
    planned = list(range(first, last + 1))

    assert decide_restart(planned, planned[:-1] if pending else planned).problems == ()
