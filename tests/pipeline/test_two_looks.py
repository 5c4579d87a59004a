"""Two looks at a log that disagree in anything prove nothing; a log that has only grown keeps its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from offsetwise.model import Cluster, Exactness, TopicPartition
from offsetwise.pipeline.content import ContentMatch, FoundPosition
from offsetwise.pipeline.window_reader import Ask
from offsetwise.ports.log_observations import SeenLog
from offsetwise.translation.identify import Records
from offsetwise.translation.search import SearchTarget, Span
from offsetwise.translation.windows import Reason
from offsetwise.translation.worker import Answer, Task, answer
from tests.with_cases import with_cases

SEED = 20_261_127
AT = TopicPartition("orders", 0)
Change = Callable[[Random, SeenLog], SeenLog]


def _number(value: Any) -> int:
    assert isinstance(value, int)
    return value


GROWN: dict[str, Change] = {
    "as it was": lambda _, log: log,
    "longer": lambda random, log: replace(log, hw=_number(log.hw) + random.randint(1, 50)),
    "another leader": lambda random, log: replace(log, leader_epoch=_number(log.leader_epoch) + random.randint(1, 3)),
    "nobody told which": lambda _, log: replace(log, cluster_id=None, topic_id=None, leader_epoch=None, lso=None),
}
LIES: dict[str, Change] = {
    "an earlier start": lambda random, log: replace(log, log_start=_number(log.log_start) - random.randint(1, 5)),
    "an earlier end": lambda random, log: replace(log, hw=_number(log.hw) - random.randint(1, 9)),
    "an earlier stable end": lambda random, log: replace(log, lso=_number(log.lso) - random.randint(1, 9)),
    "another cluster": lambda _, log: replace(log, cluster_id="another"),
    "another topic": lambda _, log: replace(log, topic_id="another"),
    "an earlier leader": lambda random, log: replace(
        log, leader_epoch=_number(log.leader_epoch) - random.randint(1, 4)
    ),
    "another cluster, and longer": lambda _, log: replace(log, cluster_id="another", hw=_number(log.hw) + 9),
}


@dataclass
class InMemory:
    """Answers from logs in memory, as workers do."""

    logs: Mapping[Cluster, Mapping[int, int]]
    unread: dict[Ask, Any] = field(default_factory=dict)

    def answers(self, tasks: Mapping[Ask, Task], _step: str) -> dict[Ask, Answer]:
        """Answer every task."""
        return {
            ask: answer(task, self._read(Cluster.OLD, task.old), self._read(Cluster.NEW, task.new), Records())
            for ask, task in tasks.items()
        }

    def _read(self, side: Cluster, span: Span) -> Records:
        log = self.logs[side]
        offsets = [offset for offset in range(span.start, span.end) if offset in log]
        count = len(offsets)
        return Records(
            offsets=offsets,
            timestamps=[1_000 + log[offset] for offset in offsets],
            log_append=[False] * count,
            content=[log[offset].to_bytes(8, "big") for offset in offsets],
            masked=[None] * count,
            key_schema=[None] * count,
            value_schema=[None] * count,
            headers=[()] * count,
        )


def found(random: Random, side: Cluster, change: Change, *, turns: bool = False) -> tuple[FoundPosition, int]:
    """Find a position where the second look shows a log of that side changed.

    Args:
        random: Chooses logs and position.
        side: Which of both logs.
        change: What the second look shows of it; the third one shows the same.
        turns: Whether the third look shows it as the first one did.

    Returns:
        What was found, and the right offset.
    """
    length, start, gone = random.randint(40, 300), random.randint(6, 20), random.randint(0, 5)
    logs = {
        Cluster.OLD: {offset: offset for offset in range(start, length)},
        Cluster.NEW: {offset - gone: offset for offset in range(start, length)},
    }
    first = {
        each: SeenLog(
            log_start=min(log),
            hw=max(log) + 1,
            lso=max(log) + 1 - lag,
            leader_epoch=5,
            topic_id=f"topic on {each}",
            cluster_id=f"{each}",
        )
        for each, log in logs.items()
        for lag in (random.choice([0, 0, 4]),)
    }
    looks = (
        [first | {side: change(random, first[side])}, first] if turns else [first | {side: change(random, first[side])}]
    )
    asked: dict[Cluster, int] = dict.fromkeys(Cluster, 0)

    def now(of: Cluster, wanted: Sequence[TopicPartition]) -> dict[TopicPartition, SeenLog]:
        look = looks[min(asked[of], len(looks) - 1)]
        asked[of] += 1
        return dict.fromkeys(wanted, look[of])

    spans = {each: Span(start=_number(log.log_start), end=_number(log.lso)) for each, log in first.items()}
    position = random.randint(spans[Cluster.OLD].start + 5, spans[Cluster.OLD].end - 5)
    ask = Ask(
        partition=AT,
        new_topic="orders",
        target=SearchTarget(position=position, old=spans[Cluster.OLD], new=spans[Cluster.NEW], window=16),
        preserving=gone == 0 and random.random() < 0.5,
        logs=(first[Cluster.OLD], first[Cluster.NEW]),
    )
    match = ContentMatch(reader=InMemory(logs), offsets_for_times=dict.fromkeys, log_ranges=now)  # type: ignore[arg-type]
    return match.find([ask])[ask], position - gone


@with_cases("side", list(Cluster))
@with_cases("lie", LIES)
def test_looks_that_disagree_leave_a_position_unknown(lie: str, side: Cluster) -> None:
    random = Random(f"{SEED} {lie} {side}")
    for _ in range(40):
        result, _ = found(random, side, LIES[lie])

        cut = result.answer.cut
        assert not result.preserved
        assert cut is not None
        assert (cut.exactness, cut.reason, cut.offset) == (Exactness.UNKNOWN, Reason.LOOKS_DIFFER, None)
        assert f"the {side} " in cut.looks


@with_cases("side", list(Cluster))
@with_cases("grown", GROWN)
def test_a_log_that_has_only_grown_keeps_the_answer(grown: str, side: Cluster) -> None:
    random = Random(f"{SEED} {grown} {side}")
    for _ in range(40):
        result, right = found(random, side, GROWN[grown])

        cut = result.answer.cut
        assert result.preserved or (cut is not None and cut.offset == right)


@with_cases("side", list(Cluster))
def test_a_start_that_is_higher_by_turns_is_no_retention(side: Cluster) -> None:
    random = Random(f"{SEED} {side}")
    for _ in range(40):
        result, _ = found(random, side, lambda _, log: replace(log, log_start=_number(log.log_start) + 3), turns=True)

        assert result.answer.cut is not None
        assert result.answer.cut.reason is Reason.LOOKS_DIFFER
