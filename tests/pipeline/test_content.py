"""What one round of the content match may read."""

from __future__ import annotations

from offsetwise.model import TopicPartition
from offsetwise.pipeline.content import ROUND_BUDGET_OFFSETS, _within_budget
from offsetwise.pipeline.window_reader import Ask
from offsetwise.translation.search import SearchPhase, SearchTarget, Span, Windows

WHOLE = Span(start=0, end=10 * ROUND_BUDGET_OFFSETS)


def _wanted(*reads: tuple[SearchPhase, int]) -> dict[Ask, Windows]:
    """Ask for windows of as many offsets on each log, one position each, numbered from 0."""
    return {
        Ask(
            partition=TopicPartition("orders", number),
            new_topic="orders",
            target=SearchTarget(position=0, old=WHOLE, new=WHOLE),
        ): Windows(old=Span(start=0, end=length), new=Span(start=0, end=length), phase=phase)
        for number, (phase, length) in enumerate(reads)
    }


def _kept(*reads: tuple[SearchPhase, int]) -> list[int]:
    wanted = _wanted(*reads)
    return sorted(ask.partition.partition for ask in _within_budget(wanted, [[*wanted]]))


def test_a_round_keeps_the_narrowest_confirming_reads_that_fit_its_budget() -> None:
    third = ROUND_BUDGET_OFFSETS // 2 // 3

    assert _kept(*[(SearchPhase.CONFIRM, third)] * 3) == [0, 1, 2]
    assert _kept(*[(SearchPhase.CONFIRM, third)] * 4) == [0, 1, 2]
    assert _kept((SearchPhase.CONFIRM, 4 * third), (SearchPhase.CONFIRM, third), (SearchPhase.RAW_ONLY, third)) == [
        1,
        2,
    ]


def test_a_position_that_is_still_looked_for_is_read_whatever_the_budget() -> None:
    half = ROUND_BUDGET_OFFSETS // 2

    assert _kept((SearchPhase.LOCATE, half), (SearchPhase.LOCATE, 2 * half), (SearchPhase.CONFIRM, half)) == [0, 1]


def test_each_job_has_a_budget_of_its_own_in_a_round_that_is_shared() -> None:
    third = ROUND_BUDGET_OFFSETS // 2 // 3
    wanted = _wanted(*[(SearchPhase.CONFIRM, third + number) for number in range(8)])
    asks = [*wanted]

    kept = _within_budget(wanted, [asks[:4], asks[3:6], asks[6:]])

    assert [ask.partition.partition for ask in kept] == [0, 1, 3, 4, 6, 7]
