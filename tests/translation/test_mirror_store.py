from itertools import pairwise
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import LogRange, OffsetSync
from offsetwise.translation.mirror import Mm2Store, NoAnswer, SyncIndex, mirror_candidates, mm2_answer
from tests.golden import GOLDEN
from tests.with_cases import with_cases

RUN: Final = GOLDEN["mm2_run"]["orders"]


def sync(upstream: int, downstream: int) -> OffsetSync:
    return OffsetSync(topic="orders", partition=0, upstream=upstream, downstream=downstream)


def loaded(pairs: list[tuple[int, int]], *, must_read_to_end: bool = False) -> Mm2Store:
    store = Mm2Store(must_read_to_end=must_read_to_end)
    store.load(sync(*pair) for pair in pairs)
    return store


@with_cases("entry", GOLDEN["translate_downstream"], ids=lambda entry: entry.get("state") or entry.get("note"))
def test_it_answers_as_mirrormaker_does(entry: dict[str, Any]) -> None:
    must_read_to_end = "initializationMustReadToEnd=true" in entry.get("note", "")
    started = entry.get("state") != "store not started"
    store = loaded(entry.get("syncs", []), must_read_to_end=must_read_to_end) if started else Mm2Store()
    for upstream, expected in entry.get("cases") or [(entry["upstream"], entry["result"])]:
        meant = {"empty": NoAnswer.NO_SYNC, -1: NoAnswer.BEFORE_FIRST_SYNC}.get(expected, expected)
        assert store.translate(upstream) == meant


@with_cases("flushed", [(), (RUN["sync_added_after_60s_flush"],)], ids=["at once", "after the flush"])
@with_cases("group", RUN["groups"], ids=lambda group: str(group["src"]))
def test_of_a_recorded_run_the_bracket_holds_the_truth_and_begins_where_mirrormaker_says_or_later(
    group: dict[str, int], flushed: tuple[list[int], ...]
) -> None:
    start, end = RUN["target_range"]
    syncs = [sync(*pair) for pair in (*RUN["syncs_in_topic"], *flushed)]

    new = LogRange(log_start=start, lso=end, hw=end)
    found = mirror_candidates(group["src"], "orders", 0, SyncIndex.of(syncs), (), "orders", new)
    bracket = next(candidate for candidate in found if not candidate.guess)

    assert bracket.lo is not None
    assert bracket.hi is not None
    assert (group["mm2"] or start) <= bracket.lo <= group["true"] <= bracket.hi


@with_cases("group", RUN["groups"], ids=lambda group: str(group["src"]))
def test_it_agrees_with_a_recorded_run_of_mirrormaker(group: dict[str, int]) -> None:
    assert mm2_answer(group["src"], "orders", 0, [sync(*pair) for pair in RUN["syncs_in_topic"]]) == group["mm2"]


def test_a_sync_written_at_the_flush_makes_the_end_exact() -> None:
    upstream, downstream = RUN["sync_added_after_60s_flush"]
    syncs = [sync(*pair) for pair in (*RUN["syncs_in_topic"], (upstream, downstream))]

    assert [group["true"] for group in RUN["groups"] if group["src"] == upstream] == [downstream]
    assert mm2_answer(upstream, "orders", 0, syncs) == downstream


def test_syncs_every_100_over_a_million_offsets_keep_15_of_them() -> None:
    store = loaded([(offset, offset) for offset in range(0, 1_000_001, 100)])
    assert len(set(store._slots)) == 15


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
