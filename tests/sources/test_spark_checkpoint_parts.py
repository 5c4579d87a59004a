"""The small pieces of the checkpoint reader."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import SourcePosition
from offsetwise.sources.spark_offset_log import checksum_fits, parse_source, quick_position
from offsetwise.sources.spark_restart import decide_restart
from tests.sources.folders import crc_of

IDS = st.lists(st.integers(0, 12), unique=True).map(sorted)


@pytest.mark.parametrize("planned", [None, 9])
def test_a_position_made_quickly_is_one_made_by_its_class(planned: int | None) -> None:
    quick = quick_position("orders", 3, 7, planned)
    made = SourcePosition(topic="orders", partition=3, offset=7, planned_offset=planned)

    assert (quick, hash(quick), repr(quick)) == (made, hash(made), repr(made))
    assert dataclasses.asdict(quick) == dataclasses.asdict(made)
    with pytest.raises(dataclasses.FrozenInstanceError):
        quick.offset = 8  # type: ignore[misc]


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

    assert [(one.topic, one.partition, one.offset) for one in parsed.positions] == [
        (topic, partition, offset) for topic, found in offsets.items() for partition, offset in found.items()
    ]
    assert (parsed.kind, parsed.damage, parsed.negative) == ("kafka", None, ())


@given(st.text(max_size=60) | st.from_regex(r'\{"[a-z]":\{"[0-9]":[0-9eE.+\-]{1,25}\}\}', fullmatch=True))
def test_no_text_gives_a_number_beyond_its_bounds(text: str) -> None:
    for one in parse_source("0", text).positions:
        assert 0 <= one.offset < 2**63
        assert 0 <= one.partition < 2**31


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
        assert any(problem.code == "CHECKPOINT_DAMAGED" for problem in restart.problems)


@given(st.integers(0, 50), st.integers(0, 5), st.booleans())
def test_what_spark_writes_when_nothing_goes_wrong_has_no_problem(first: int, more: int, pending: bool) -> None:
    last = first + more + 1
    planned = list(range(first, last + 1))

    assert decide_restart(planned, planned[:-1] if pending else planned).problems == ()
