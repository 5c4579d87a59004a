import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import OffsetSync
from offsetwise.translation.mirror import Mm2Store, NoAnswer, mm2_answer

# Measured on Kafka and MirrorMaker 2 4.1.1, two brokers, IdentityReplicationPolicy, offset.lag.max=100.
SYNCS_OF_RUN = [(100 + 101 * i, 101 * i) for i in range(11)]
FLUSHED = (1199, 1099)
GROUPS_OF_RUN = [(50, None), (100, 0), (150, 1), (500, 1), (1000, 809), (1050, 910), (1199, 1011), (1200, 1011)]


def sync(upstream: int, downstream: int) -> OffsetSync:
    return OffsetSync(topic="orders", partition=0, upstream=upstream, downstream=downstream)


def loaded(pairs: list[tuple[int, int]], *, must_read_to_end: bool = False) -> Mm2Store:
    store = Mm2Store(must_read_to_end=must_read_to_end)
    store.load(sync(*pair) for pair in pairs)
    return store


def test_a_store_that_was_not_loaded_answers_nothing() -> None:
    assert Mm2Store().translate(100) is NoAnswer.NO_SYNC


def test_a_partition_without_sync_has_no_answer() -> None:
    assert loaded([]).translate(100) is NoAnswer.NO_SYNC


@pytest.mark.parametrize(
    ("pairs", "must_read_to_end", "cases"),
    [
        pytest.param(
            [(100, 0)],
            False,
            [(0, None), (99, None), (100, 0), (101, 1), (150, 1), (1_000_000, 1)],
            id="one-sync-counts-one-record-past-it-whatever-the-distance",
        ),
        pytest.param(
            [(100, 0), (200, 100)],
            False,
            [(99, None), (100, 0), (101, 1), (199, 1), (200, 100), (201, 101), (500, 101)],
            id="the-newest-sync-at-or-before-decides",
        ),
        pytest.param(
            [(0, 0), (100, 100), (200, 200)],
            True,
            [(150, None), (250, 201)],
            id="first-load-that-must-read-to-the-end-keeps-the-last-only",
        ),
        pytest.param(
            [(0, 0), (100, 100), (200, 200)],
            False,
            [(150, 101), (250, 201)],
            id="first-load-otherwise-keeps-them",
        ),
    ],
)
def test_it_answers_as_mirrormaker_does(
    pairs: list[tuple[int, int]], must_read_to_end: bool, cases: list[tuple[int, int | None]]
) -> None:
    store = loaded(pairs, must_read_to_end=must_read_to_end)
    for upstream, expected in cases:
        assert store.translate(upstream) == (NoAnswer.BEFORE_FIRST_SYNC if expected is None else expected)


@pytest.mark.parametrize(
    ("upstream", "expected"), [(100, None), (149, None), (150, 160), (151, 161), (200, 161), (201, 161)]
)
def test_a_rewind_on_the_source_discards_all_earlier_syncs(upstream: int, expected: int | None) -> None:
    store = loaded([(100, 0), (200, 100), (150, 160)])
    assert store.translate(upstream) == (NoAnswer.BEFORE_FIRST_SYNC if expected is None else expected)


@pytest.mark.parametrize(("position", "expected"), GROUPS_OF_RUN)
def test_it_agrees_with_a_recorded_run_of_mirrormaker(position: int, expected: int | None) -> None:
    assert mm2_answer(position, "orders", 0, [sync(*pair) for pair in SYNCS_OF_RUN]) == expected


def test_a_sync_written_at_the_flush_makes_the_end_exact() -> None:
    assert mm2_answer(1199, "orders", 0, [sync(*pair) for pair in [*SYNCS_OF_RUN, FLUSHED]]) == 1099


def test_syncs_every_100_over_a_million_offsets_keep_15_of_them() -> None:
    store = loaded([(offset, offset) for offset in range(0, 1_000_001, 100)])
    assert len(store.kept()) == 15


@given(st.lists(st.integers(min_value=1, max_value=10**6), min_size=1, max_size=200))
def test_slots_keep_mirrormakers_invariants(steps: list[int]) -> None:
    store, upstream = Mm2Store(), 0
    for step in steps:
        upstream += step
        store.add(sync(upstream, upstream))
        slots = store._slots
        assert slots[0].upstream == upstream
        for i, (above, below) in enumerate(pairwise(slots)):
            if above is not below:
                assert above.upstream <= below.upstream + 2 ** (i + 1) - 2**i
                assert above.upstream >= below.upstream + 2 ** max(i - 2, 0)


def test_all_recorded_vectors_hold() -> None:
    vectors = Path(__file__).parents[1] / "data" / "mm2-golden-vectors.json"
    golden: dict[str, Any] = json.loads(vectors.read_text(encoding="utf-8"))
    assert [tuple(pair) for pair in golden["mm2_run"]["orders"]["syncs_in_topic"]] == SYNCS_OF_RUN
    for entry in golden["translate_downstream"]:
        if "syncs" not in entry:
            continue
        store = loaded([tuple(pair) for pair in entry["syncs"]], must_read_to_end="=true" in entry.get("note", ""))
        for upstream, expected in entry["cases"]:
            assert store.translate(upstream) == (NoAnswer.BEFORE_FIRST_SYNC if expected == -1 else expected)
    for group in golden["mm2_run"]["orders"]["groups"]:
        assert loaded(SYNCS_OF_RUN).translate(group["src"]) == (
            NoAnswer.BEFORE_FIRST_SYNC if group["mm2"] is None else group["mm2"]
        )
