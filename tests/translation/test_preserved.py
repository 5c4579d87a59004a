from __future__ import annotations

from collections.abc import Sequence

from offsetwise.model import Neighbour, Side
from offsetwise.translation.preserved import PROBE_RECORDS, Probe, agreeing_neighbours, preserved, probe, probe_spans
from offsetwise.translation.search import Span
from offsetwise.translation.windows import LogWindow
from tests.with_cases import with_cases


def window(offsets: Sequence[int], identities: Sequence[str]) -> LogWindow:
    return LogWindow(start=0, end=100, at_start=True, at_end=True, offsets=offsets, identities=identities)


class TestPlaces:
    def test_are_at_both_ends_in_the_middle_and_around_the_position(self) -> None:
        found = probe_spans(4000, Span(start=100, end=10_000), Span(start=0, end=10_000))

        half = PROBE_RECORDS // 2
        assert found == (
            Span(start=100, end=100 + PROBE_RECORDS),
            Span(start=4000 - PROBE_RECORDS, end=4000 + PROBE_RECORDS),
            Span(start=5050 - half, end=5050 + half),
            Span(start=10_000 - PROBE_RECORDS, end=10_000),
        )

    @with_cases("position", [0, 40, 99, 100, 500])
    def test_lie_inside_both_logs(self, position: int) -> None:
        for place in probe_spans(position, Span(start=20, end=100), Span(start=0, end=60)):
            assert 20 <= place.start < place.end <= 60

    def test_are_none_where_the_logs_do_not_overlap(self) -> None:
        assert probe_spans(50, Span(start=0, end=100), Span(start=100, end=200)) == ()
        assert probe_spans(0, Span(start=0, end=0), Span(start=0, end=100)) == ()


class TestAProbe:
    def test_counts_unique_records_at_the_same_offset(self) -> None:
        assert probe(window([1, 2], ["a", "b"]), window([1, 2], ["a", "b"])) == Probe(agree=2)

    def test_counts_other_records_at_the_same_offset(self) -> None:
        assert probe(window([1, 2], ["a", "b"]), window([1, 2], ["b", "c"])) == Probe(differ=2)

    def test_takes_no_comfort_from_identical_records(self) -> None:
        assert probe(window([1, 2], ["a", "a"]), window([1, 2], ["a", "a"])) == Probe(alike=2)

    def test_passes_over_offsets_that_only_one_log_holds(self) -> None:
        assert probe(window([1, 3], ["a", "c"]), window([2, 3], ["b", "c"])) == Probe(agree=1)

    def test_adds_up(self) -> None:
        assert Probe(agree=1, differ=2) + Probe(agree=3, alike=4) == Probe(agree=4, alike=4, differ=2)


class TestRecordsKeptAround:
    def test_a_position_are_the_nearest_unique_ones_on_both_sides(self) -> None:
        old = window([1, 2, 3, 4, 5, 7, 8, 9, 10], ["a", "b", "c", "same", "same", "e", "f", "g", "h"])
        new = window([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], ["a", "b", "c", "same", "same", "x", "e", "f", "g", "h"])

        found = [
            (each.old_offset, each.new_offset, each.identity, each.side) for each in agreeing_neighbours(6, old, new)
        ]

        read, unread = ((1, "a"), (2, "b"), (3, "c")), ((7, "e"), (8, "f"), (9, "g"))
        assert found == [(n, n, i, Side.READ) for n, i in read] + [(n, n, i, Side.UNREAD) for n, i in unread]

    def test_a_position_at_the_end_of_the_log_lie_below_it(self) -> None:
        (found,) = agreeing_neighbours(3, window([2], ["b"]), window([2], ["b"]))

        assert (found.old_offset, found.side) == (2, Side.READ)

    def test_leave_out_what_differs(self) -> None:
        assert agreeing_neighbours(2, window([1, 2], ["a", "b"]), window([1, 2], ["b", "x"])) == ()


class TestOffsetsAre:
    LOG = Span(start=0, end=100)
    ENOUGH = (Probe(agree=1), Probe(agree=2))

    def near(self, *offsets: int, position: int = 50) -> list[Neighbour]:
        return [
            Neighbour(
                old_offset=offset,
                new_offset=offset,
                timestamp_ms=None,
                identity=str(offset),
                side=Side.READ if offset < position else Side.UNREAD,
            )
            for offset in offsets
        ]

    def test_kept_where_records_agree_near_and_far(self) -> None:
        assert preserved(50, self.LOG, self.LOG, self.near(49, 50), self.ENOUGH)

    def test_not_kept_where_one_record_differs_anywhere(self) -> None:
        assert not preserved(50, self.LOG, self.LOG, self.near(49, 50), [*self.ENOUGH, Probe(agree=9, differ=1)])

    @with_cases("agree", [(), (49,), (50,)], ids=["nowhere near", "before it only", "at it only"])
    def test_not_known_to_be_kept_where_records_do_not_agree_on_both_sides_of_the_position(
        self, agree: tuple[int, ...]
    ) -> None:
        assert not preserved(50, self.LOG, self.LOG, self.near(*agree), self.ENOUGH)

    def test_kept_at_an_end_of_the_logs_where_records_agree_on_the_only_side_there_is(self) -> None:
        assert preserved(50, self.LOG, Span(start=0, end=50), self.near(49), self.ENOUGH)
        assert preserved(50, self.LOG, Span(start=50, end=100), self.near(50), self.ENOUGH)

    def test_not_known_to_be_kept_on_too_few_records(self) -> None:
        assert not preserved(50, self.LOG, self.LOG, self.near(49, 50), [Probe(agree=2)])
        assert not preserved(50, self.LOG, self.LOG, [], [])


def test_records_that_the_link_moved_at_the_end_of_the_log_are_not_taken_for_kept() -> None:
    old, new = Span(start=0, end=20), Span(start=0, end=23)
    held = [str(number) for number in range(20)]
    windows = window(range(20), held), window([*range(18), 21, 22], held)

    assert not preserved(19, old, new, agreeing_neighbours(19, *windows), [probe(*windows)])
