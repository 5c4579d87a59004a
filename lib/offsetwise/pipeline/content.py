"""Find many positions by content at once: Spark reads and answers, the cut decides.

Each round reads, in one batch per cluster, the windows of the positions that are still undecided. The cost is windows x
positions, whatever the size of the topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from offsetwise.model import Cluster, TopicPartition
from offsetwise.pipeline.window_reader import Ask, Place, WindowReader
from offsetwise.ports.log_observations import SeenLog, disagreements
from offsetwise.position import offset_or_none
from offsetwise.translation.preserved import Probe, preserved, probe_spans
from offsetwise.translation.search import (
    SearchPhase,
    Span,
    Windows,
    affordable,
    better,
    earlier_windows,
    first_windows,
    in_doubt,
    next_windows,
    settled,
    wants_time,
)
from offsetwise.translation.windows import Cut
from offsetwise.translation.worker import Answer, RecordQuestion, Task, looks_differ, moved

ROUND_BUDGET_OFFSETS = 20_000_000
"""How many offsets a confirming round may read; positions beyond it keep their result, unconfirmed."""

SALT_BYTES = 16

Times = Mapping[TopicPartition, int]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPosition:
    answer: Answer
    probes: Probe | None = None
    """The sum of the probes, if a link is stated to keep offsets."""
    preserved: bool = False
    old_offsets_read: int = 0
    new_offsets_read: int = 0
    rounds: int = 0
    at_time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentMatch:
    reader: WindowReader
    offsets_for_times: Callable[[Times], Mapping[TopicPartition, int | None]]
    """Takes partitions of the new cluster with timestamps; returns the first offset at or after each."""
    log_ranges: Callable[[Cluster, Sequence[TopicPartition]], Mapping[TopicPartition, SeenLog]]
    """Reads the current log ranges, for the second observation."""
    batch_ends: Mapping[Place, int] = field(default_factory=dict)
    """The end of the pending batch of a position: it is compared with the records that are read for the position."""
    clock_skew_ms: int = 0
    """The maximum difference between the clocks of both clusters' brokers."""

    def find(self, *jobs: Sequence[Ask]) -> dict[Ask, FoundPosition]:
        """Find every position.

        Args:
            jobs: The positions of each job. Shared positions are read once; each job has its own budget per round.

        Returns:
            The results of every job whose records all could be read. `reader.unread` has the reasons for the others.

        Raises:
            ClusterError: A cluster does not return its log starts, or its offsets for a time.
            SparkError: A Spark job failed.
        """
        asks = list(dict.fromkeys(ask for job in jobs for ask in job))
        results = self._probe([ask for ask in asks if ask.preserving])
        ahead = [ask for ask in asks if ask not in results or not results[ask].preserved]
        results = self._hopeful(results | self._search(ahead, results, jobs), jobs)
        passed, differ = self._looked_again(list(results))
        if passed:
            again = self._search(
                list(passed.values()), {}, [[passed[ask] for ask in job if ask in passed] for job in jobs]
            )
            still, differ_again = self._looked_again(list(again))
            for ask, renewed in passed.items():
                if renewed in self.reader.unread:
                    self.reader.unread[ask] = self.reader.unread[renewed]
                elif renewed in again:
                    results[ask] = replace(again[renewed], answer=moved()) if renewed in still else again[renewed]
                    differ |= {ask: differ_again[renewed]} if renewed in differ_again else {}
        results |= {
            ask: FoundPosition(answer=looks_differ(message)) for ask, message in differ.items() if ask in results
        }
        return {ask: position for ask, position in results.items() if ask not in self.reader.unread}

    def same_records(self, asks: Sequence[Ask]) -> dict[Ask, bool]:
        """Compare the old and the new span of each position's target as multisets of records.

        Positions above the budget, and those whose records retention removed meanwhile, are missing in the result.
        """
        tasks = {
            ask: Task(
                question=RecordQuestion.SAME,
                position=ask.target.position,
                old=ask.target.old,
                new=ask.target.new,
                old_whole=ask.target.old,
                new_whole=ask.target.new,
            )
            for ask in asks
            if max(len(ask.target.old), len(ask.target.new)) <= ask.target.budget
        }
        answers = self.reader.answers(tasks, "compare the pending batch")
        logs = self._logs_now(list(answers))
        return {
            ask: bool(given.same)
            for ask, given in answers.items()
            if all(
                _still_holds(side, log, *observation)
                for side, log, observation in zip(Cluster, ask.logs, logs[ask], strict=True)
            )
        }

    def _task(self, ask: Ask, windows: Windows) -> Task:
        return Task(
            question=RecordQuestion.CUT,
            position=ask.target.position,
            old=windows.old,
            new=windows.new,
            old_whole=ask.target.old,
            new_whole=ask.target.new,
            natives_excluded=ask.natives_excluded,
            last=windows.last,
            until=self.batch_ends.get(ask.old_position),
        )

    def _probe(self, asks: Sequence[Ask]) -> dict[Ask, FoundPosition]:
        probes: dict[Ask, list[tuple[Span, Answer]]] = {ask: [] for ask in asks}
        spans = {ask: probe_spans(ask.target.position, ask.target.old, ask.target.new) for ask in asks}
        for depth in range(max((len(span) for span in spans.values()), default=0)):
            tasks = {
                ask: Task(
                    question=RecordQuestion.PROBE,
                    position=ask.target.position,
                    old=ask_spans[depth],
                    new=ask_spans[depth],
                    old_whole=ask.target.old,
                    new_whole=ask.target.new,
                )
                for ask, ask_spans in spans.items()
                if depth < len(ask_spans) and ask not in self.reader.unread
            }
            for ask, given in self.reader.answers(tasks, "probe offsets that the link is said to keep").items():
                probes[ask].append((spans[ask][depth], given))
        results = {}
        for ask, observations in probes.items():
            near = [answer for span, answer in observations if span.start <= ask.target.position <= span.end]
            every = [answer.probe or Probe() for _, answer in observations]
            offsets = sum(len(span) for span, _ in observations)
            results[ask] = FoundPosition(
                answer=max(near, key=lambda answer: len(answer.kept), default=Answer()),
                probes=sum(every, Probe()),
                preserved=preserved(
                    ask.target.position,
                    ask.target.old,
                    ask.target.new,
                    [record for answer in near for record in answer.kept],
                    every,
                ),
                old_offsets_read=offsets,
                new_offsets_read=offsets,
            )
        return results

    def _search(
        self, asks: Sequence[Ask], before: Mapping[Ask, FoundPosition], jobs: Sequence[Sequence[Ask]]
    ) -> dict[Ask, FoundPosition]:
        windows = self._hopeful({ask: first_windows(ask.target) for ask in asks}, jobs)
        results = {ask: before.get(ask, FoundPosition(answer=Answer())) for ask in asks}
        latest: dict[Ask, Windows] = {}
        while windows:
            latest.update(windows)
            locating = sum(window.phase is SearchPhase.LOCATE for window in windows.values())
            step = (
                f"locate {locating} positions" if locating else f"examine what lies ahead of {len(windows):,} positions"
            )
            answers = self.reader.answers(
                {ask: self._task(ask, ask_windows) for ask, ask_windows in windows.items()}, step
            )
            times = self._times(windows, answers)
            following: dict[Ask, Windows] = {}
            for ask, given in answers.items():
                read = windows[ask]
                results[ask] = _updated(results[ask], read, given, times.get(ask))
                nearby = _with_origin(given)
                target = affordable(ask.target, given.record_bytes)
                requested = next_windows(target, read, nearby, at_time=times.get(ask)) if nearby else None
                if requested is not None:
                    following[ask] = requested
            windows = _within_budget(self._hopeful(following, jobs), jobs)
        results = self._hopeful(results, jobs)
        cuts = {
            ask: cut for ask, position in results.items() if (cut := position.answer.cut) is not None and in_doubt(cut)
        }
        return results | self._settled(results, cuts, latest)

    def _hopeful(self, requests: dict[Ask, _T], jobs: Sequence[Sequence[Ask]]) -> dict[Ask, _T]:
        """Drop requests that only jobs ask for whose records cannot all be read any more."""
        if not self.reader.unread:
            return requests
        whole = {ask for job in jobs if self.reader.unread.keys().isdisjoint(job) for ask in job}
        return {ask: request for ask, request in requests.items() if ask in whole}

    def _settled(
        self, positions: Mapping[Ask, FoundPosition], cuts: Mapping[Ask, Cut], latest: Mapping[Ask, Windows]
    ) -> dict[Ask, FoundPosition]:
        """Search further down for copies of unread records, if the cut may skip some."""
        earliest = self._earliest(cuts)
        windows: dict[Ask, Windows] = {}
        for ask, cut in cuts.items():
            target = affordable(ask.target, positions[ask].answer.record_bytes)
            requested = earlier_windows(target, latest[ask], cut, earliest[ask])
            if requested is not None:
                windows[ask] = requested
        results = {ask: positions[ask] for ask in cuts}
        if windows:
            step = f"look further down for copies of {len(windows):,} positions"
            for ask, given in self.reader.answers(
                {ask: self._task(ask, ask_windows) for ask, ask_windows in windows.items()}, step
            ).items():
                results[ask] = _updated(positions[ask], windows[ask], given, None)
        for ask, position in results.items():
            if position.answer.cut is not None:
                cut = settled(position.answer.cut, earliest[ask])
                results[ask] = replace(position, answer=replace(position.answer, cut=cut))
        return results

    def _earliest(self, cuts: Mapping[Ask, Cut]) -> dict[Ask, int]:
        """Return the offset of the new log below which no copy of an observed unread record can lie, by its timestamp.

        A producer's timestamp is that of the copy, too. If brokers set the timestamps of both logs, a copy is younger.
        """
        unread = {
            ask: cut.unread_since - (self.clock_skew_ms if cut.since_append else 0)
            for ask, cut in cuts.items()
            if cut.unread_since is not None
        }
        offsets = self._reached(unread)
        return {ask: max(offsets.get(ask) or 0, ask.target.new.start) for ask in cuts}

    def _times(self, windows: Mapping[Ask, Windows], answers: Mapping[Ask, Answer]) -> dict[Ask, int]:
        lost: dict[Ask, int] = {}
        for ask, given in answers.items():
            cut, time = given.cut, given.time_before
            if cut is not None and time is not None and wants_time(windows[ask], cut):
                lost[ask] = time
        return {ask: offset for ask, offset in self._reached(lost).items() if offset is not None}

    def _reached(self, times: Mapping[Ask, int]) -> dict[Ask, int | None]:
        remaining = {(ask.new_partition, time) for ask, time in times.items()}
        known: dict[tuple[TopicPartition, int], int | None] = {}
        while remaining:
            now = dict(sorted(remaining))
            offsets = self.offsets_for_times(now)
            known |= {(partition, time): offsets.get(partition) for partition, time in now.items()}
            remaining -= now.items()
        return {ask: known[ask.new_partition, time] for ask, time in times.items()}

    def _looked_again(self, asks: Sequence[Ask]) -> tuple[dict[Ask, Ask], dict[Ask, str]]:
        """Read the log ranges again, after the records were read.

        Returns:
            Positions whose log starts rose or are unknown, with their logs now; and positions whose two observations
                contradict each other, with a clause that says how: a log start must not fall, nor an end.
        """
        passed: dict[Ask, Ask] = {}
        differ: dict[Ask, str] = {}
        for ask, observations in self._logs_now(asks).items():
            target = ask.target
            message = next(
                (
                    clause
                    for arguments in zip(Cluster, ask.logs, observations, strict=True)
                    for clause in _disagreeing(*arguments)
                ),
                None,
            )
            starts = [offset_or_none(log.log_start) for _, log in observations]
            if message is not None:
                differ[ask] = message
            elif (
                None in starts
                or any(log.hw is None for _, log in observations)
                or starts != [target.old.start, target.new.start]
            ):
                spans = [
                    replace(span, start=min(span.start if start is None else start, span.end))
                    for (span, _), start in zip(observations, starts, strict=True)
                ]
                logs = (observations[0][1], observations[1][1])
                passed[ask] = replace(ask, target=replace(target, old=spans[0], new=spans[1]), logs=logs)
        return passed, differ

    def _logs_now(self, asks: Sequence[Ask]) -> dict[Ask, tuple[tuple[Span, SeenLog], ...]]:
        if not asks:
            return {}
        old = self.log_ranges(Cluster.OLD, sorted({ask.partition for ask in asks}))
        new = self.log_ranges(Cluster.NEW, sorted({ask.new_partition for ask in asks}))
        return {ask: ((ask.target.old, old[ask.partition]), (ask.target.new, new[ask.new_partition])) for ask in asks}


def _still_holds(side: Cluster, previous: SeenLog, span: Span, log: SeenLog) -> bool:
    start, end = offset_or_none(log.log_start), offset_or_none(log.hw)
    if start is None or end is None or next(disagreements(side, previous, log), None) is not None:
        return False
    return start <= span.start and span.end <= end


def _disagreeing(side: Cluster, previous: SeenLog, observation: tuple[Span, SeenLog]) -> Iterator[str]:
    span, log = observation
    yield from disagreements(side, previous, log)
    yield from disagreements(side, SeenLog(log_start=span.start, hw=span.end), log)


def _updated(result: FoundPosition, read: Windows, given: Answer, at_time: int | None) -> FoundPosition:
    located = result.answer.cut
    if read.phase is not SearchPhase.LOCATE and located is not None and given.cut is not None:
        best = better(located, given.cut)
        given = replace(given, cut=best) if best is given.cut else replace(result.answer, cut=best)
    return replace(
        result,
        answer=given,
        old_offsets_read=result.old_offsets_read + len(read.old),
        new_offsets_read=result.new_offsets_read + len(read.new),
        rounds=result.rounds + 1,
        at_time=result.at_time if at_time is None else at_time,
    )


def _with_origin(given: Answer) -> Cut | None:
    cut = given.cut
    if cut is None or cut.shift is not None or given.origin_shift is None:
        return cut
    return replace(cut, shift=given.origin_shift)


def _within_budget(windows: Mapping[Ask, Windows], jobs: Sequence[Sequence[Ask]]) -> dict[Ask, Windows]:
    """Drop the widest confirming reads beyond the budget of one round of each job."""
    asks = {ask for ask, ask_windows in windows.items() if ask_windows.phase is SearchPhase.LOCATE}
    for job in jobs:
        total = 0
        sizes = {ask: len(windows[ask].old) + len(windows[ask].new) for ask in job if ask in windows}
        for ask in sorted(sizes, key=sizes.__getitem__):
            total += sizes[ask]
            if total <= ROUND_BUDGET_OFFSETS:
                asks.add(ask)
    return {ask: ask_windows for ask, ask_windows in windows.items() if ask in asks}
