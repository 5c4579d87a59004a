"""The content match for many partitions at once: Spark reads and groups, the cut decides.

Each round reads, in one batch per cluster, the windows that still undecided positions ask for. The records are
hashed in the projection, grouped by position, and answered on the workers (`translation/worker.py`); only the
answers reach the driver. The cost is windows x positions, whatever the size of the topics.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import TypeAdapter
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.model import Cluster, IsolationLevel, TopicPartition
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.spark_errors import spark_errors
from offsetwise.progress import Progress
from offsetwise.translation.identify import Records
from offsetwise.translation.preserved import Probe, places, preserved
from offsetwise.translation.search import (
    Phase,
    Span,
    Target,
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
from offsetwise.translation.worker import ANSWER_SCHEMA, Answer, Log, Question, Task, answer, answer_group, moved

LARGE_OFFSETS = 20_000
"""Windows above this are read by jobs of their own, split into tasks of about as many records."""

ROUND_BUDGET_OFFSETS = 20_000_000
"""Offsets that one confirming round may read in all; positions beyond it keep their place, unexamined ahead."""

SALT_BYTES = 16

Times = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One position to find."""

    partition: TopicPartition
    new_topic: str
    target: Target
    natives_excluded: bool = False
    preserving: bool = False
    """Whether the link is stated to keep offsets: a few probes come first."""

    @property
    def new_partition(self) -> TopicPartition:
        """The partition on the new cluster."""
        return TopicPartition(topic=self.new_topic, partition=self.partition.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the records said about one position."""

    answer: Answer
    probes: Probe | None = None
    """Sum of the probes, where a link is stated to keep offsets."""
    preserved: bool = False
    old_offsets_read: int = 0
    new_offsets_read: int = 0
    rounds: int = 0
    at_time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentMatch:
    """Finds positions by content. One salt per run, so that identities of one run can be compared."""

    spark: SparkSession
    properties: Mapping[Cluster, Mapping[str, str]]
    """The Java client's properties of both clusters."""
    isolation: IsolationLevel
    offsets_for_times: Callable[[Times], Mapping[TopicPartition, int | None]]
    """On the new cluster."""
    log_starts: Callable[[Cluster, Sequence[TopicPartition]], Mapping[TopicPartition, int | None]]
    progress: Progress
    salt: bytes = field(default_factory=lambda: os.urandom(SALT_BYTES))

    def find(self, asks: Sequence[Ask]) -> dict[Ask, Found]:
        """Find every position.

        Raises:
            ClusterError: A cluster cannot be read by Spark.
            SparkError: A job failed.
        """
        found: dict[Ask, Found] = {}
        found.update(self._probe([ask for ask in asks if ask.preserving]))
        found.update(self._search([ask for ask in asks if ask not in found or not found[ask].preserved], found))
        passed = self._passed_by_retention(asks)
        if passed:
            again = self._search(list(passed.values()), {})
            still = self._passed_by_retention(list(passed.values()))
            for ask, renewed in passed.items():
                found[ask] = replace(again[renewed], answer=moved()) if renewed in still else again[renewed]
        return found

    def same_records(self, asks: Sequence[Ask]) -> dict[Ask, bool]:
        """Compare the old and the new span of each ask's target as multisets of records.

        Those above the budget, and those that retention passed while they were read, are left out.
        """
        tasks = {
            ask: Task(
                question=Question.SAME,
                position=ask.target.position,
                old=ask.target.old,
                new=ask.target.new,
                old_whole=ask.target.old,
                new_whole=ask.target.new,
            )
            for ask in asks
            if max(len(ask.target.old), len(ask.target.new)) <= ask.target.budget
        }
        answers = self._ask(tasks, "compare the pending batch")
        passed = self._passed_by_retention(list(answers))
        return {ask: bool(given.same) for ask, given in answers.items() if ask not in passed}

    def _probe(self, asks: Sequence[Ask]) -> dict[Ask, Found]:
        probes: dict[Ask, list[tuple[Span, Answer]]] = {ask: [] for ask in asks}
        spans = {ask: places(ask.target.position, ask.target.old, ask.target.new) for ask in asks}
        for depth in range(max((len(each) for each in spans.values()), default=0)):
            tasks = {
                ask: Task(
                    question=Question.PROBE,
                    position=ask.target.position,
                    old=each[depth],
                    new=each[depth],
                    old_whole=ask.target.old,
                    new_whole=ask.target.new,
                )
                for ask, each in spans.items()
                if depth < len(each)
            }
            for ask, given in self._ask(tasks, "probe offsets that the link is said to keep").items():
                probes[ask].append((spans[ask][depth], given))
        made = {}
        for ask, seen in probes.items():
            near = [each for span, each in seen if span.start <= ask.target.position <= span.end]
            every = [each.probe or Probe() for _, each in seen]
            offsets = sum(len(span) for span, _ in seen)
            made[ask] = Found(
                answer=max(near, key=lambda each: len(each.kept), default=Answer()),
                probes=sum(every, Probe()),
                preserved=preserved(
                    ask.target.position,
                    ask.target.old,
                    ask.target.new,
                    [record for each in near for record in each.kept],
                    every,
                ),
                old_offsets_read=offsets,
                new_offsets_read=offsets,
            )
        return made

    def _search(self, asks: Sequence[Ask], before: Mapping[Ask, Found]) -> dict[Ask, Found]:
        windows = {ask: first_windows(ask.target) for ask in asks}
        found = {ask: before.get(ask, Found(answer=Answer())) for ask in asks}
        latest: dict[Ask, Windows] = {}
        while windows:
            latest.update(windows)
            locating = sum(each.phase is Phase.LOCATE for each in windows.values())
            step = (
                f"locate {locating} positions" if locating else f"examine what lies ahead of {len(windows)} positions"
            )
            answers = self._ask({ask: _task(ask, each) for ask, each in windows.items()}, step)
            times = self._times(windows, answers)
            following: dict[Ask, Windows] = {}
            for ask, read in windows.items():
                found[ask] = _updated(found[ask], read, answers[ask], times.get(ask))
                nearby = _with_origin(answers[ask])
                target = affordable(ask.target, answers[ask].record_bytes)
                wanted = next_windows(target, read, nearby, at_time=times.get(ask)) if nearby else None
                if wanted is not None:
                    following[ask] = wanted
            windows = _within_budget(following)
        cuts = {ask: cut for ask, each in found.items() if (cut := each.answer.cut) is not None and in_doubt(cut)}
        return found | self._settled(found, cuts, latest)

    def _settled(
        self, found: Mapping[Ask, Found], cuts: Mapping[Ask, Cut], latest: Mapping[Ask, Windows]
    ) -> dict[Ask, Found]:
        """Look further down for copies of unread records, where the cut may skip some."""
        earliest = self._earliest(cuts)
        windows: dict[Ask, Windows] = {}
        for ask, cut in cuts.items():
            target = affordable(ask.target, found[ask].answer.record_bytes)
            wanted = earlier_windows(target, latest[ask], cut, earliest[ask])
            if wanted is not None:
                windows[ask] = wanted
        made = {ask: found[ask] for ask in cuts}
        if windows:
            step = f"look further down for copies of {len(windows)} positions"
            for ask, given in self._ask({ask: _task(ask, each) for ask, each in windows.items()}, step).items():
                made[ask] = _updated(found[ask], windows[ask], given, None)
        for ask, each in made.items():
            if each.answer.cut is not None:
                cut = settled(each.answer.cut, earliest[ask])
                made[ask] = replace(each, answer=replace(each.answer, cut=cut))
        return made

    def _earliest(self, cuts: Mapping[Ask, Cut]) -> dict[Ask, int]:
        """Say below which offset of the new log no copy of a record seen unread lies: by its timestamp, in one call."""
        times: dict[TopicPartition, int] = {}
        for ask, cut in cuts.items():
            if cut.unread_since is not None:
                times[ask.new_partition] = min(cut.unread_since, times.get(ask.new_partition, cut.unread_since))
        offsets = self.offsets_for_times(times) if times else {}
        made = {}
        for ask, cut in cuts.items():
            first = None if cut.unread_since is None else offsets.get(ask.new_partition)
            made[ask] = max(first or 0, ask.target.new.start)
        return made

    def _times(self, windows: Mapping[Ask, Windows], answers: Mapping[Ask, Answer]) -> dict[Ask, int]:
        """Look up where the new log reached the time of the record before each lost position.

        One batched call, and one more for each further position of one partition.
        """
        lost: dict[Ask, int] = {}
        for ask, read in windows.items():
            cut, time = answers[ask].cut, answers[ask].time_before
            if cut is not None and time is not None and wants_time(read, cut):
                lost[ask] = time
        made: dict[Ask, int] = {}
        while lost:
            asked = {ask.new_partition: ask for ask in lost}
            offsets = self.offsets_for_times({at: lost.pop(ask) for at, ask in asked.items()})
            made |= {ask: offset for at, ask in asked.items() if (offset := offsets.get(at)) is not None}
        return made

    def _passed_by_retention(self, asks: Sequence[Ask]) -> dict[Ask, Ask]:
        """Give the positions whose log starts moved meanwhile, or are not told, with their logs as they are now."""
        if not asks:
            return {}
        old = self.log_starts(Cluster.OLD, sorted({ask.partition for ask in asks}))
        new = self.log_starts(Cluster.NEW, sorted({ask.new_partition for ask in asks}))
        made = {}
        for ask in asks:
            target = ask.target
            starts = (old.get(ask.partition), new.get(ask.new_partition))
            old_start, new_start = max(target.old.start, starts[0] or 0), max(target.new.start, starts[1] or 0)
            if None in starts or (old_start, new_start) != (target.old.start, target.new.start):
                renewed = replace(
                    target,
                    old=replace(target.old, start=min(old_start, target.old.end)),
                    new=replace(target.new, start=min(new_start, target.new.end)),
                )
                made[ask] = replace(ask, target=renewed)
        return made

    def _ask(self, tasks: Mapping[Ask, Task], step: str) -> dict[Ask, Answer]:
        """Answer tasks in one job for the narrow ones and one for the wide ones."""
        done: dict[Ask, Answer] = {}
        narrow = {ask: task for ask, task in tasks.items() if len(task.old) + len(task.new) <= LARGE_OFFSETS}
        wide = {ask: task for ask, task in tasks.items() if ask not in narrow}
        for part, per_task in ((narrow, None), (wide, LARGE_OFFSETS)):
            if part:
                told = partial(self.progress, step, len(done), len(tasks))
                told()
                done.update(self._job(part, per_task, told))
        self.progress(step, len(done), len(tasks))
        return done

    def _job(
        self, tasks: Mapping[Ask, Task], max_records_per_task: int | None, watch: Callable[[], None]
    ) -> dict[Ask, Answer]:
        numbered = dict(enumerate(tasks.items()))
        logs = [Log.OLD, Log.NEW]
        if self.isolation is IsolationLevel.READ_COMMITTED:
            logs.append(Log.ABORTED)
        parts = [self._records(log, numbered, max_records_per_task) for log in logs]
        records = parts[0]
        for part in parts[1:]:
            records = records.unionByName(part)
        by_number = {number: task for number, (_, task) in numbered.items()}
        grouped = records.groupBy("task").applyInArrow(partial(answer_group, by_number), ANSWER_SCHEMA)
        with spark_errors():
            table = interruptible(self.spark, grouped.toArrow, watch)
        given = {
            number: _ANSWER.validate_json(str(text))
            for number, text in zip(table.column("task").to_pylist(), table.column("answer").to_pylist(), strict=True)
        }
        empty = Records()
        return {
            ask: given[number] if number in given else answer(task, empty, empty, empty)
            for number, (ask, task) in numbered.items()
        }

    def _records(
        self, log: Log, numbered: Mapping[int, tuple[Ask, Task]], max_records_per_task: int | None
    ) -> DataFrame:
        """Read the windows of one log and give each record the number of every task that wants it."""
        is_new = log is Log.NEW
        wanted = [
            (
                number,
                ask.new_topic if is_new else ask.partition.topic,
                ask.partition.partition,
                (task.new if is_new else task.old).start,
                (task.new if is_new else task.old).end,
            )
            for number, (ask, task) in numbered.items()
        ]
        ranges = [OffsetRange(topic=t, partition=p, start=start, end=end) for _, t, p, start, end in wanted]
        records = read_records(
            self.spark,
            self.properties[Cluster.NEW if is_new else Cluster.OLD],
            ranges,
            isolation=IsolationLevel.READ_UNCOMMITTED if log is Log.ABORTED else self.isolation,
            salt=self.salt,
            max_records_per_task=max_records_per_task,
        )
        tasks = self.spark.createDataFrame(
            wanted, "task long, wanted_topic string, wanted_partition int, from_offset long, to_offset long"
        )
        inside = (
            (F.col("topic") == F.col("wanted_topic"))
            & (F.col("partition") == F.col("wanted_partition"))
            & (F.col("offset") >= F.col("from_offset"))
            & (F.col("offset") < F.col("to_offset"))
        )
        return records.join(F.broadcast(tasks), on=inside, how="inner").select(
            "task",
            F.lit(log.value).alias("log"),
            "offset",
            "timestamp",
            "log_append",
            "content",
            "masked",
            "key_schema",
            "value_schema",
            "headers",
            "origin",
            "size",
        )


_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


def _task(ask: Ask, windows: Windows) -> Task:
    return Task(
        question=Question.CUT,
        position=ask.target.position,
        old=windows.old,
        new=windows.new,
        old_whole=ask.target.old,
        new_whole=ask.target.new,
        natives_excluded=ask.natives_excluded,
        last=windows.last,
    )


def _updated(found: Found, read: Windows, given: Answer, at_time: int | None) -> Found:
    located = found.answer.cut
    if read.phase is not Phase.LOCATE and located is not None and given.cut is not None:
        best = better(located, given.cut)
        given = replace(given, cut=best) if best is given.cut else replace(found.answer, cut=best)
    return replace(
        found,
        answer=given,
        old_offsets_read=found.old_offsets_read + len(read.old),
        new_offsets_read=found.new_offsets_read + len(read.new),
        rounds=found.rounds + 1,
        at_time=found.at_time if at_time is None else at_time,
    )


def _with_origin(given: Answer) -> Cut | None:
    """Follow the provenance header where no record could be paired."""
    cut = given.cut
    if cut is None or cut.shift is not None or given.origin_shift is None:
        return cut
    return replace(cut, shift=given.origin_shift)


def _within_budget(windows: Mapping[Ask, Windows]) -> dict[Ask, Windows]:
    """Drop the widest confirming reads beyond what one round may read."""
    kept, total = {}, 0
    for ask, each in sorted(windows.items(), key=lambda item: len(item[1].old) + len(item[1].new)):
        total += len(each.old) + len(each.new)
        if each.phase is Phase.LOCATE or total <= ROUND_BUDGET_OFFSETS:
            kept[ask] = each
    return kept
