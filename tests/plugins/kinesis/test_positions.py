"""Positions of Kinesis: their texts, their order inside a shard, and what a number tells by itself."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.plugins.kinesis.stream.numbers import evidence_of
from offsetwise.plugins.kinesis.stream.spec import (
    LATEST,
    SHARD_END,
    SPEC,
    TRIM_HORIZON,
    ShardPlace,
    after,
    at,
    at_time,
    parse,
    sequence_number,
)
from offsetwise.ports.stream import position, stream_of
from offsetwise.registry import STREAMS
from tests.with_cases import with_cases

NUMBERS = st.integers(min_value=0, max_value=10**129 - 1)
PLACES = st.one_of(
    st.sampled_from([TRIM_HORIZON, LATEST, SHARD_END]),
    st.builds(after, NUMBERS, st.none() | st.integers(min_value=0, max_value=2**63 - 1)),
    st.builds(at, NUMBERS),
    st.builds(at_time, st.integers(min_value=0, max_value=10**15 - 1)),
)


@given(PLACES)
def test_a_position_is_read_from_its_own_text(place: ShardPlace) -> None:
    assert parse(str(place)) == place
    assert position(str(place)) == place


@with_cases(
    "text",
    [
        *("4968", "seq:007", "seq:1e56", "seq:-1", "seq:", f"seq:1{'0' * 129}", "seq:1/", "seq:1/-1", "at:1/2"),
        *("seq: 1", "seq:٣", "trim_horizon", "AT_TIMESTAMP:", "AT_TIMESTAMP:-1", "SHARD_END ", ""),
    ],
)
def test_any_other_text_is_none(text: str) -> None:
    assert parse(text) is None


@given(st.lists(NUMBERS, min_size=2, max_size=5, unique=True))
def test_numbers_are_ordered_as_integers_however_many_digits_they_have(numbers: list[int]) -> None:
    assert sorted(map(after, numbers)) == [after(each) for each in sorted(numbers)]


def test_places_of_one_record_are_in_the_order_of_what_is_processed() -> None:
    ordered = [at(5), after(5, 0), after(5, 4), after(5), at(6), SHARD_END]

    for first, second in pairwise(ordered):
        assert first < second
        assert second > first
        assert first <= second
        assert not second <= first


@given(PLACES)
def test_where_the_stream_would_have_to_be_asked_nothing_is_before_or_behind(place: ShardPlace) -> None:
    for unknown in (TRIM_HORIZON, LATEST, at_time(1)):
        assert not unknown < place
        assert not unknown > place
    assert TRIM_HORIZON <= TRIM_HORIZON


def test_the_distance_of_two_positions_is_not_known() -> None:
    assert after(7) - after(5) is None
    assert f"{after(7):,}" == "seq:7"


@with_cases(
    ("number", "shard", "arrived"),
    [
        (49593949378240586316257100628612811999143984124999500050, 17, "2019-04-09T14:57:12Z"),
        (49566467963672844688143743564377378755975449228125143042, 0, "2017-05-03"),
    ],
    ids=["KCL issue 537", "logstash-input-kinesis issue 22"],
)
def test_a_number_of_layout_2_tells_shard_and_arrival(number: int, shard: int, arrived: str) -> None:
    found = evidence_of(number)

    assert found is not None
    assert found.shard == shard
    assert SPEC.tells(after(number)).startswith(arrived)


@with_cases("number", [49537979178794861780081237450294896636708704732336619521, 24438822900000000000168706143, 1, 0])
def test_a_number_of_another_layout_tells_nothing(number: int) -> None:
    assert evidence_of(number) is None
    assert SPEC.tells(after(number)) == ""


@given(st.integers(min_value=0, max_value=55), st.integers(min_value=0, max_value=7))
def test_a_number_with_one_bit_of_a_digit_changed_never_looks_like_one_of_its_shard(place: int, bit: int) -> None:
    text = "49593949378240586316257100628612811999143984124999500050"
    changed = sequence_number(text[:place] + chr(ord(text[place]) ^ 1 << bit) + text[place + 1 :])

    found = None if changed is None else evidence_of(changed)
    assert found is None or found.shard != 17


def test_it_is_registered_and_streams_of_tables_are_shown_and_not_compared() -> None:
    assert "kinesis" in STREAMS
    for kind in ("kinesis", "dynamodb-streams"):
        assert stream_of(kind) is SPEC
    assert SPEC.compared == {"kinesis"}
