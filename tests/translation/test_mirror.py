from bisect import bisect_left
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.model import Candidate, LogRange, Method, MirrorCheckpoint, MirrorState, MirrorTopic, OffsetSync
from offsetwise.translation.mirror import Mm2Store, NoAnswer, SyncIndex, find_flow, mirror_candidates, mm2_answer
from tests.with_cases import with_cases

ORDERS = [(100 + 101 * i, 101 * i) for i in range(11)]
NEW = LogRange(log_start=0, lso=1100, hw=1100)


def syncs(pairs: list[tuple[int, int]], *, topic: str = "orders", partition: int = 0) -> list[OffsetSync]:
    return [OffsetSync(topic=topic, partition=partition, upstream=up, downstream=down) for up, down in pairs]


def bracket(index: SyncIndex, position: int, new: LogRange) -> Candidate | None:
    """Where the syncs of the last run place a position of orders-0; None without one."""
    found = mirror_candidates(position, "orders", 0, index, (), "orders", new)
    return next((candidate for candidate in found if not candidate.guess), None)


def bounds(pairs: list[tuple[int, int]], position: int, new: LogRange = NEW) -> tuple[int | None, int | None]:
    found = bracket(SyncIndex.of(syncs(pairs)), position, new)
    assert found is not None
    return found.lo, found.hi  # type: ignore[return-value] # a mirror's are whole numbers


@with_cases(
    ("position", "expected"),
    [
        pytest.param(1050, (910, 1010), id="between-two-syncs"),
        pytest.param(1009, (909, 909), id="at-a-sync"),
        pytest.param(1150, (1011, 1100), id="after-the-last-sync-up-to-the-high-watermark"),
        pytest.param(50, (0, 0), id="before-the-first-sync-from-the-log-start"),
    ],
)
def test_a_position_is_bracketed_by_all_retained_syncs(position: int, expected: tuple[int, int]) -> None:
    assert bounds(ORDERS, position) == expected


def test_equal_distances_around_a_position_give_a_place_to_try_first() -> None:
    first, wide = mirror_candidates(1050, "orders", 0, SyncIndex.of(syncs(ORDERS)), (), "orders", NEW)
    assert (first.lo, first.hi, first.guess) == (950, 950, True)
    assert (wide.lo, wide.hi, wide.guess) == (910, 1010, False)


def test_unequal_distances_give_none() -> None:
    (wide,) = mirror_candidates(50, "orders", 0, SyncIndex.of(syncs([(0, 0), (100, 80)])), (), "orders", NEW)
    assert not wide.guess


def test_a_place_to_try_first_lies_within_the_new_log() -> None:
    index = SyncIndex.of(syncs([(0, 0), (100, 100)]))
    (trimmed,) = mirror_candidates(50, "orders", 0, index, (), "orders", LogRange(log_start=60, lso=100, hw=100))
    (ended,) = mirror_candidates(50, "orders", 0, index, (), "orders", LogRange(log_start=0, lso=40, hw=40))

    assert (trimmed.lo, ended.hi) == (60, 40)


def test_a_rewind_on_the_source_begins_a_new_run_and_the_last_run_counts() -> None:
    assert bounds([(100, 0), (200, 100), (150, 160), (300, 310)], 200) == (161, 310)


def test_a_rewind_on_the_target_begins_a_new_run_because_the_topic_was_recreated() -> None:
    assert bounds([(0, 0), (4000, 4000), (4100, 0), (4200, 100)], 4050) == (0, 0)


def test_an_earlier_run_is_a_candidate_after_the_last_one() -> None:
    index = SyncIndex.of(syncs([(0, 0), (100, 100), (200, 200), (150, 220), (300, 370)]))
    found = mirror_candidates(120, "orders", 0, index, (), "orders", NEW)
    assert [(candidate.lo, candidate.hi) for candidate in found] == [(120, 120), (101, 200), (0, 220)]
    assert [candidate.guess for candidate in found] == [True, True, False]
    assert "earlier run" in found[1].said_by


def test_a_sync_beyond_the_new_log_bounds_nothing() -> None:
    index = SyncIndex.of(syncs([(4000, 4000)]))
    found = mirror_candidates(4000, "orders", 0, index, (), "orders", LogRange(log_start=0, lso=10, hw=10))
    assert [(candidate.lo, candidate.hi) for candidate in found] == [(0, 10)]
    assert "beyond the new log end" in found[0].said_by


def test_a_sync_below_the_new_log_start_says_so() -> None:
    index = SyncIndex.of(syncs(ORDERS))
    (found,) = mirror_candidates(201, "orders", 0, index, (), "orders", LogRange(log_start=500, lso=1100, hw=1100))
    assert (found.lo, found.hi) == (500, 500)
    assert "below the new log start 500" in found.said_by


def test_no_sync_and_no_checkpoint_give_no_candidate() -> None:
    assert mirror_candidates(5, "orders", 0, SyncIndex.of([]), (), "orders", NEW) == ()


def test_another_partition_and_topic_do_not_mix_in() -> None:
    index = SyncIndex.of([*syncs([(7, 1)]), *syncs([(7, 2)], partition=1), *syncs([(7, 3)], topic="payments")])
    keys = (("orders", 0), ("orders", 1), ("payments", 0))
    assert [mm2_answer(7, *key, index) for key in keys] == [1, 2, 3]


def test_the_narrowest_candidate_comes_first_and_says_who() -> None:
    found = mirror_candidates(1050, "orders", 0, SyncIndex.of(syncs(ORDERS)), (), "orders", NEW)
    assert [(candidate.lo, candidate.hi) for candidate in found] == [(950, 950), (910, 1010)]
    assert "1,009 → 909 and 1,110 → 1,010" in found[1].said_by
    assert "11 syncs" in found[1].said_by
    assert [candidate.guess for candidate in found] == [True, False]


def checkpoint(upstream: int, downstream: int, *, topic: str = "orders", partition: int = 0) -> MirrorCheckpoint:
    return MirrorCheckpoint(group="etl", topic=topic, partition=partition, upstream=upstream, downstream=downstream)


@with_cases(
    ("given_checkpoint", "expected"),
    [
        pytest.param(checkpoint(1050, 910), [910], id="at-the-position"),
        pytest.param(checkpoint(1000, 809), [809], id="before-it-is-a-lower-bound"),
        pytest.param(checkpoint(1051, 910), [], id="after-it-says-nothing"),
        pytest.param(checkpoint(1050, 910, topic="old.orders"), [], id="another-topic"),
        pytest.param(checkpoint(1050, 910, partition=1), [], id="another-partition"),
        pytest.param(checkpoint(1050, 4001), [], id="beyond-the-new-log"),
    ],
)
def test_a_checkpoint_counts_only_where_its_own_position_is_not_past_the_jobs(
    given_checkpoint: MirrorCheckpoint, expected: list[int]
) -> None:
    found = mirror_candidates(1050, "orders", 0, SyncIndex.of([]), (given_checkpoint,), "orders", NEW)
    assert [candidate.lo for candidate in found] == expected
    assert all(candidate.method is Method.MIRROR_CHECKPOINT for candidate in found)


def state(name: str, alias: str, pairs: list[tuple[int, int]]) -> MirrorState:
    topic = MirrorTopic(name=name, kind="offset-syncs", alias=alias, records=len(pairs))
    return MirrorState(topics=(topic,), syncs=((name, tuple(syncs(pairs))),))


def test_the_flow_is_found_by_the_targets_alias_on_the_source() -> None:
    flow = find_flow(
        state("mm2-offset-syncs.new.internal", "new", ORDERS), MirrorState(), source_alias="old", target_alias="new"
    )
    assert len(flow.syncs) == 11
    assert "mm2-offset-syncs.new.internal" in flow.statements[0]


def test_the_flow_is_found_on_the_target_too() -> None:
    flow = find_flow(
        MirrorState(), state("mm2-offset-syncs.old.internal", "old", ORDERS), source_alias="old", target_alias="new"
    )
    assert len(flow.syncs) == 11


def test_the_syncs_of_the_way_back_are_not_taken_for_the_flows() -> None:
    there = state("mm2-offset-syncs.new.internal", "new", ORDERS[:2])
    back = state("mm2-offset-syncs.old.internal", "old", ORDERS)

    flow = find_flow(there, back, source_alias="old", target_alias="new")

    assert len(flow.syncs) == 2, "though the way back has more"


def test_where_only_the_way_back_has_checkpoints_its_syncs_are_not_taken() -> None:
    there = state("mm2-offset-syncs.new.internal", "new", ORDERS)
    checkpoints = MirrorTopic(name="old.checkpoints.internal", kind="checkpoints", alias="old", records=0)

    failback = find_flow(MirrorState(topics=(checkpoints,)), there, source_alias="new", target_alias="old")

    assert failback.syncs == ()
    assert "not found" in failback.statements[0]


def state_of(*states: MirrorState) -> MirrorState:
    return MirrorState(
        topics=tuple(topic for each in states for topic in each.topics),
        syncs=tuple(pairs for each in states for pairs in each.syncs),
    )


@with_cases(
    ("separator", "taken"),
    [(".", "dots"), ("-", "dashes"), (".-.", "both"), ("_", "dots")],
    ids=["dots", "dashes", "several characters", "internal topics keep dots"],
)
def test_of_mirrors_with_different_separators_the_flows_own_is_taken(separator: str, taken: str) -> None:
    lengths = {"dots": 1, "dashes": 2, "both": 3}
    old = state_of(
        state("mm2-offset-syncs-new-internal", "new", ORDERS[:2]),
        state("mm2-offset-syncs.-.new.-.internal", "new", ORDERS[:3]),
        state("mm2-offset-syncs.new.internal", "new", ORDERS[:1]),
    )

    flow = find_flow(old, MirrorState(), source_alias="old", target_alias="new", separator=separator)

    assert len(flow.syncs) == lengths[taken]


def test_the_syncs_of_another_separator_are_not_taken_where_the_flows_own_has_none_yet() -> None:
    old = state_of(
        state("mm2-offset-syncs-new-internal", "new", ORDERS), state("mm2-offset-syncs.new.internal", "new", [])
    )

    assert find_flow(old, MirrorState(), source_alias="old", target_alias="new").syncs == ()


def test_a_single_topic_under_another_alias_is_taken_and_said() -> None:
    flow = find_flow(
        state("mm2-offset-syncs.dc2.internal", "dc2", ORDERS), MirrorState(), source_alias="old", target_alias="new"
    )
    assert len(flow.syncs) == 11
    assert "not the expected" in flow.statements[0]


def test_several_topics_under_other_aliases_are_not_guessed_between() -> None:
    old = state("mm2-offset-syncs.dc2.internal", "dc2", ORDERS)
    new = state("mm2-offset-syncs.dc1.internal", "dc1", ORDERS)
    flow = find_flow(old, new, source_alias="old", target_alias="new")
    assert flow.syncs == ()
    assert "dc1" in flow.statements[0]


@dataclass(frozen=True)
class Mirror:
    """A generated mirror: copies (upstream, downstream) in log order, and the syncs that survived compaction."""

    copies: list[tuple[int, int]]
    syncs: list[OffsetSync]
    hw: int

    def place(self, position: int) -> int:
        """The highest place that skips nothing: the first copy at or after the position."""
        at = bisect_left(self.copies, (position, 0))
        return self.copies[at][1] if at < len(self.copies) else self.hw


@st.composite
def mirrors(draw: st.DrawFn) -> Mirror:
    upstream, downstream = draw(st.integers(0, 500)), draw(st.integers(0, 500))
    copies, made = [], []
    for up_step, down_step, synced in draw(
        st.lists(st.tuples(st.integers(1, 30), st.integers(1, 3), st.booleans()), min_size=1, max_size=120)
    ):
        upstream, downstream = upstream + up_step, downstream + down_step
        copies.append((upstream, downstream))
        if synced:
            made.append((upstream, downstream))
    hw = downstream + 1 + draw(st.integers(0, 3))
    return Mirror(copies=copies, syncs=syncs(made), hw=hw)


@given(mirrors(), st.integers(0, 5000))
def test_a_bracket_holds_the_right_place_and_is_never_ahead_of_it(mirror: Mirror, position: int) -> None:
    new = LogRange(log_start=0, lso=mirror.hw, hw=mirror.hw)
    found = bracket(SyncIndex.of(mirror.syncs), position, new)
    if found is None:
        return
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo <= mirror.place(position) <= found.hi


@given(mirrors(), st.integers(0, 5000))
def test_a_bracket_is_at_least_as_precise_as_mirrormaker(mirror: Mirror, position: int) -> None:
    store = Mm2Store()
    store.load(mirror.syncs)
    theirs = store.translate(position)
    if isinstance(theirs, NoAnswer):
        return
    new = LogRange(log_start=0, lso=mirror.hw, hw=mirror.hw)
    found = bracket(SyncIndex.of(mirror.syncs), position, new)
    assert found is not None
    assert found.lo is not None
    assert theirs <= found.lo <= mirror.place(position)


@given(mirrors(), st.lists(st.integers(0, 5000), min_size=2, max_size=20))
def test_brackets_are_monotonic_in_the_position(mirror: Mirror, positions: list[int]) -> None:
    if not mirror.syncs:
        return
    new, index = LogRange(log_start=0, lso=mirror.hw, hw=mirror.hw), SyncIndex.of(mirror.syncs)
    found = [each for at in sorted(positions) if (each := bracket(index, at, new))]
    lows, highs = [each.lo for each in found], [each.hi for each in found]
    assert lows == sorted(lows, key=int)  # type: ignore[arg-type]
    assert highs == sorted(highs, key=int)  # type: ignore[arg-type]
