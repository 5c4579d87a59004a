"""Editing offset files: other numbers, everything else byte for byte, or a refusal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.errors import ApplyError
from offsetwise.model import offsets_by_partition
from offsetwise.plugins.spark.engine.offset_log import parse_initial_offsets, parse_offsets
from offsetwise.plugins.spark.targets.edit import Edited, edit_initial, edit_offsets
from offsetwise.targets.moves import Move
from tests.plugins.spark.folders import NAMES, sample_files
from tests.with_cases import with_cases

HEAD = b'v1\n{"batchWatermarkMs":0,"a key of its own":1}\n'
RECORDED = {
    f"{name}/{path}": (path, data)
    for name in NAMES
    for path, data in sample_files(name).items()
    if re.fullmatch(r"offsets/[0-9]+", path)
}
FILES, IDS = list(RECORDED.values()), list(RECORDED)


def _moves(data: bytes, shift: int, *, rename: str = "") -> dict[str, list[Move]]:
    return {
        source.id: [
            Move(topic=topic, partition=partition, old=offset, new_topic=rename + topic, new=offset + shift)
            for (topic, partition), offset in offsets_by_partition(source.offsets).items()
        ]
        for source in parse_offsets(data)[1].values()
        if source.kind == "kafka"
    }


def _edit(data: bytes, *moves: Move, source: str = "0") -> Edited:
    return edit_offsets(data, {source: moves}, subject="offsets/7")


@with_cases(("path", "data"), FILES, ids=IDS)
def test_in_every_recorded_file_only_the_numbers_change(path: str, data: bytes) -> None:
    edited = edit_offsets(data, _moves(data, 7), subject=path).data

    head, tail = data.split(b"\n", 2)[:2], data.split(b"\n", 2)[2]
    assert edited.split(b"\n", 2)[:2] == head
    assert re.sub(rb"(?<=:)[0-9]+", b"#", edited.split(b"\n", 2)[2]) == re.sub(rb"(?<=:)[0-9]+", b"#", tail)
    assert edit_offsets(edited, _moves(edited, -7), subject=path).data == data
    assert not edited.endswith(b"\n")


@with_cases(("path", "data"), FILES, ids=IDS)
def test_nothing_to_change_changes_nothing(path: str, data: bytes) -> None:
    assert edit_offsets(data, _moves(data, 0), subject=path).data == data


def test_a_topic_is_renamed_by_an_edit_of_its_key_and_the_order_of_keys_stays() -> None:
    data = HEAD + b'{"orders":{"1":509,"0":538},"audit":{"0":1}}'

    edited = edit_offsets(data, _moves(data, 1, rename="old."), subject="offsets/7")

    assert edited.data == HEAD + b'{"old.orders":{"1":510,"0":539},"old.audit":{"0":2}}'
    first = edited.changes[0]
    assert (first.topic, first.before, first.new_topic, first.after) == ("orders", 509, "old.orders", 510)


@with_cases(
    ("before", "after"),
    [
        (b'{"orders":{"0":1}}', b'{"orders":{"0":8}}'),
        (b' { "orders" : { "0" : 1 } } ', b' { "orders" : { "0" : 8 } } '),
        (b'{"\\u006frders":{"0":1}}', b'{"\\u006frders":{"0":8}}'),
        (b'{"orders":{"0":1}}\n', b'{"orders":{"0":8}}\n'),
        (b'{"orders":{"0":1}}\n-', b'{"orders":{"0":8}}\n-'),
        (b'{"orders":{"0":1},"empty":{}}', b'{"orders":{"0":8},"empty":{}}'),
    ],
    ids=["plain", "spaces", "an escaped name", "a line end", "a void source after it", "an empty topic"],
)
def test_spelling_that_readers_accept_is_kept(before: bytes, after: bytes) -> None:
    move = Move(topic="orders", partition=0, old=1, new_topic="orders", new=8)

    assert _edit(HEAD + before, move).data == HEAD + after
    crlf = (HEAD + before).replace(b"\n", b"\r\n")
    assert _edit(crlf, move).data == (HEAD + after).replace(b"\n", b"\r\n")


def test_an_added_partition_stands_behind_the_others_of_its_topic() -> None:
    moves = (
        Move(topic="orders", partition=0, old=1, new_topic="o", new=8),
        Move(topic="orders", partition=5, old=None, new_topic="o", new=0, added=True),
        Move(topic="orders", partition=4, old=None, new_topic="o", new=3, added=True),
    )

    assert _edit(HEAD + b'{"orders":{"0":1},"other":{}}', *moves).data == HEAD + (
        b'{"o":{"0":8,"4":3,"5":0},"other":{}}'
    )


def test_in_a_v2_log_a_source_is_found_by_its_name() -> None:
    data = b'v2\n{}\nrate:5\norders_src:{"orders":{"0":1}}\n7:{"orders":{"0":1}}'
    move = Move(topic="orders", partition=0, old=1, new_topic="orders", new=8)

    assert edit_offsets(data, {"7": [move]}, subject="offsets/7").data == (
        b'v2\n{}\nrate:5\norders_src:{"orders":{"0":1}}\n7:{"orders":{"0":8}}'
    )
    assert _edit(data, move, source="orders_src").data.splitlines()[3] == b'orders_src:{"orders":{"0":8}}'


GOOD = Move(topic="orders", partition=0, old=1, new_topic="orders", new=8)


@with_cases(
    ("line", "moves", "said"),
    [
        (b'{"orders":{"0":2}}', [GOOD], "orders-0 at 1 as in the plan, found 2"),
        (b'{"orders":{"0":1,"1":1}}', [GOOD], "only partitions of the plan, found orders-1"),
        (b'{"orders":{"0":1},"b":{"0":1}}', [GOOD], "only topics of the plan, found 'b'"),
        (b'{"orders":{"1":1}}', [GOOD], "found orders-1"),
        (b'{"orders":{}}', [GOOD], "orders-0, found no such partition"),
        (b'{"orders":{"0":-2}}', [GOOD], "found something else"),
        (b'{"orders":{"0":1.5}}', [GOOD], "expected integers"),
        (b'{"orders":{"0":1,"0":1}}', [GOOD], "found one twice"),
        (b"17", [GOOD], "found something else"),
        (b"-", [GOOD], "found something else"),
        (b'{"orders":{"0":1}}', [GOOD, GOOD.__class__(topic="b", partition=0, old=1, new_topic="b", new=1)], "b-0"),
        (b'{"orders":{"0":1}}', [Move(topic="orders", partition=0, old=1, new_topic="orders", new=-1)], "the plan has"),
        (b'{"orders":{"0":1}}', [Move(topic="orders", partition=0, old=1, new_topic="o", new=2**63)], "the plan has"),
        (b'{"orders":{"0":1}}', [Move(topic="orders", partition=0, old=1, new_topic='o":{', new=2)], "a topic name"),
        (
            b'{"a":{"0":1},"b":{"0":1}}',
            [Move(topic=topic, partition=0, old=1, new_topic="c", new=2) for topic in "ab"],
            "gives one to two",
        ),
    ],
)
def test_what_cannot_be_proven_is_refused(line: bytes, moves: list[Move], said: str) -> None:
    with pytest.raises(ApplyError, match=re.escape(said)) as caught:
        _edit(HEAD + line, *moves)

    assert "Nothing was written." in caught.value.problem
    assert caught.value.fix


def test_a_source_that_the_file_lacks_is_refused() -> None:
    with pytest.raises(ApplyError, match="a line of source '3'"):
        _edit(HEAD + b'{"orders":{"0":1}}', GOOD, source="3")


def test_a_garbled_file_is_refused() -> None:
    with pytest.raises(ApplyError, match="garbled"):
        _edit(b"v3\n{}\n-", GOOD)


@with_cases("byte", [b"\0", b"x", b"\xff"], ids=["as Spark writes it", "a letter", "no UTF-8"])
def test_initial_offsets_keep_the_byte_before_the_version(byte: bytes) -> None:
    data = byte + b'v1\n{"orders":{"1":50,"0":100}}'
    moves = [
        Move(topic="orders", partition=1, old=50, new_topic="n", new=0),
        Move(topic="orders", partition=0, old=100, new_topic="n", new=5),
    ]

    assert edit_initial(data, "0", moves, subject="s").data == byte + b'v1\n{"n":{"1":0,"0":5}}'


def test_initial_offsets_that_spark_cannot_read_are_refused() -> None:
    with pytest.raises(ApplyError, match="the byte before the version is missing"):
        edit_initial(b'v1\n{"orders":{"0":1}}', "0", [GOOD], subject="sources/0/0")


_TOPICS = st.dictionaries(
    st.from_regex(r"[a-z._\-]{1,8}", fullmatch=True),
    st.dictionaries(st.integers(0, 5000), st.integers(0, 2**63 - 1), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


@given(topics=_TOPICS, data=st.data())
def test_any_numbers_are_written_exactly(topics: dict[str, dict[int, int]], data: st.DataObject) -> None:
    line = ",".join(
        f'"{topic}":{{{",".join(f"{chr(34)}{number}{chr(34)}:{at}" for number, at in inner.items())}}}'
        for topic, inner in topics.items()
    )
    new = {key: data.draw(st.integers(0, 2**63 - 1)) for key in ((t, p) for t, inner in topics.items() for p in inner)}
    moves = [
        Move(topic=topic, partition=partition, old=topics[topic][partition], new_topic=f"x.{topic}", new=number)
        for (topic, partition), number in new.items()
    ]
    body = f"v1\n{{}}\n{{{line}}}".encode()

    edited = edit_offsets(body, {"0": moves}, subject="offsets/0").data

    read = offsets_by_partition(parse_offsets(edited)[1]["0"].offsets)
    assert read == {(f"x.{topic}", partition): number for (topic, partition), number in new.items()}
    assert list(read) == [(f"x.{topic}", partition) for topic, inner in topics.items() for partition in inner]
    initial = edit_initial(b"\0v1\n" + f"{{{line}}}".encode(), "0", moves, subject="sources/0/0").data
    assert offsets_by_partition(parse_initial_offsets(initial)[0].offsets) == read
