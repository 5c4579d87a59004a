"""The code that answers one group of records on Spark's workers, so it imports only what they have.

Each group is one task: the records of both logs that one question needs. The answer is one row, a task number and a
JSON object, whatever the number of records.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from operator import sub
from typing import Any

from offsetwise.model import Exactness, Neighbour
from offsetwise.translation.content import anchors, decide
from offsetwise.translation.counting import StretchTotals, WindowStretch
from offsetwise.translation.identify import Identified, Records, identify
from offsetwise.translation.mirror_progress import Pair
from offsetwise.translation.preserved import Probe, agreeing_neighbours, probe
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Cut, LogWindow, Reason

RECORD_COLUMNS = (
    "offset",
    "timestamp",
    "log_append",
    "content",
    "masked",
    "key_schema",
    "value_schema",
    "headers",
)
ANSWER_SCHEMA = "task long, answer string"
RUN = 3
"""How many consecutive records whose times agree are stronger evidence than one record."""


class RecordQuestion(StrEnum):
    CUT = "cut"
    PROBE = "probe"
    SAME = "same"


class LogSide(StrEnum):
    OLD = "old"
    NEW = "new"
    ABORTED = "aborted"
    """The old log with the records of aborted transactions, for a job that does not read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    question: RecordQuestion
    position: int
    old: Span
    new: Span
    old_whole: Span
    new_whole: Span
    natives_excluded: bool = False
    last: bool = True
    until: int | None = None
    """For a cut: the end of the batch that begins at the position, if one is pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    start: int
    end: int
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of the records that were read, epoch ms, and which parts of both logs these are."""

    before: tuple[int, ...] = ()
    """Of the last records before the position on the old log, at most `RUN`; empty if one has no time."""
    by_broker: bool = False
    """Whether a broker set the last of `before`."""
    newest_before: int | None = None
    """The newest time before the position; None if a record has no time."""
    back_ms: int | None = None
    """The maximum by which a record of the old log is older than an earlier one; None if a record has no time."""
    old_is_empty: bool = False
    """Whether the whole old log was read, and holds no record that the job reads."""
    new_is_whole: bool = False
    """Whether the whole new log was read."""
    newest_new: int | None = None
    """The newest time read of the new log; None if a record has no time, or there is none."""
    new_ahead: int = 0
    """How many records of the new log at or above the unchanged offset were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    cut: Cut | None = None
    probe: Probe | None = None
    kept: tuple[Neighbour, ...] = ()
    """For a probe: the agreeing records around the position."""
    same: bool | None = None
    batch: Pending | None = None
    """For a cut: the pending batch, if the records read hold all of it and prove both its ends."""
    made_of: str = ""
    timed: bool = True
    ignored_headers: tuple[str, ...] = ()
    schema_ids: tuple[tuple[int, int], ...] = ()
    time_before: int | None = None
    """Timestamp of the last record before the position: where to look next."""
    times: Times = Times()
    origin_shift: int | None = None
    """New minus old offset, as the provenance header nearest to the position claims."""
    record_bytes: int | None = None
    """Mean size of the records read, of the log with the larger ones; None if none was read."""


def answer_group(tasks: Mapping[int, tuple[str, Task]], group: Any) -> Any:
    """Answer one task; the function that Spark applies to each group.

    Args:
        tasks: Every task of this round with its token, by number.
        group: `pyarrow.Table` with columns task, log, origin, size and `RECORD_COLUMNS`.

    Returns:
        A `pyarrow.Table` of one row: task, answer (JSON).
    """
    import pyarrow as pa  # noqa: PLC0415 - the workers have it, this module must load without it

    number = group.column("task")[0].as_py()
    ordered = group.sort_by("offset")
    of = ordered.column("log").to_pylist()
    old, new, aborted = (ordered.filter(pa.array([side == log.value for side in of], pa.bool_())) for log in LogSide)
    token, task = tasks[number]
    given = answer(task, records_of(old), records_of(new), records_of(aborted), origins=_origins(new))
    text = written(replace(given, record_bytes=_mean_size(old, new)), token)
    return pa.table({"task": pa.array([number], pa.int64()), "answer": pa.array([text], pa.string())})


def written(given: Answer, token: str) -> str:
    """Serialize an answer with the token of its question, so that it cannot be taken for another answer."""
    return json.dumps(fields_of(given) | {"token": token}, default=fields_of)


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass with slots, for `json`; `asdict` would copy every value below them."""
    return {name: getattr(value, name) for name in value.__slots__}


class WrittenTimes:
    """The times of the records of one log, epoch ms, in the order of the log."""

    def __init__(self, timestamps: Sequence[int | None]) -> None:
        self._count = len(timestamps)
        self._timed: list[int] = []
        for time in timestamps:
            if time is None:
                break
            self._timed.append(time)
        self._newest = [*accumulate(self._timed, max)]
        """The maximum up to each record; it ends before the first record without a time."""

    @cached_property
    def back_ms(self) -> int | None:
        """The maximum by which a record is older than an earlier one; None if a record has no time."""
        if len(self._timed) < self._count:
            return None
        return max(map(sub, self._newest, self._timed), default=0)

    def newest(self, count: int) -> int | None:
        """Return the newest time of the first `count` records; None if one has no time, or there is none."""
        return self._newest[count - 1] if 0 < count <= len(self._newest) else None


class Paired:
    """The values that all questions about the same records of both logs share: identities and anchors."""

    def __init__(self, old: Records, new: Records, aborted: Records) -> None:
        self.identified = identify(old, new, _only_aborted(aborted, old))
        self._old, self._new = old, new
        self._totals: dict[WindowStretch, StretchTotals] = {}
        self.cuts: dict[Task, Cut] = {}
        """By the task, without the end of a batch."""

    @cached_property
    def old_times(self) -> WrittenTimes:
        return WrittenTimes(self._old.timestamps)

    @cached_property
    def new_times(self) -> WrittenTimes:
        return WrittenTimes(self._new.timestamps)

    @cached_property
    def chain(self) -> list[Pair]:
        return anchors(self.identified.old, self.identified.new)

    def cut(self, task: Task, position: int, windows: tuple[LogWindow, LogWindow]) -> Cut:
        """Decide where a position resumes, once for all tasks that differ in nothing else."""
        question = replace(task, position=position, until=None)
        if question not in self.cuts:
            self.cuts[question] = decide(
                position,
                *windows,
                natives_excluded=task.natives_excluded,
                aborted=self.identified.aborted,
                last=task.last,
                chain=self.chain,
                totals=self._totals,
            )
        return self.cuts[question]


def answer(
    task: Task,
    old: Records,
    new: Records,
    aborted: Records,
    *,
    origins: Mapping[int, int] | None = None,
    paired: Paired | None = None,
) -> Answer:
    """Answer one task from its records; a driver calls this itself if there is no record.

    Args:
        task: The question.
        old: The records of its span of the old log.
        new: The records of its span of the new log.
        aborted: The records of the old log with aborted transactions, for a job that does not read them.
        origins: The old offsets that provenance headers claim, by new offset.
        paired: The shared values of the same records, if another question about them was answered before.
    """
    paired = paired or Paired(old, new, aborted)
    identified = paired.identified
    windows = (
        _window(task.old, task.old_whole, old, identified.old),
        _window(task.new, task.new_whole, new, identified.new),
    )
    result = _without_result(task, old, new, paired, origins or {})
    if task.question is RecordQuestion.PROBE:
        return replace(result, probe=probe(*windows), kept=agreeing_neighbours(task.position, *windows))
    if task.question is RecordQuestion.SAME:
        return replace(result, same=Counter(identified.old) == Counter(identified.new))
    cut = paired.cut(task, task.position, windows)
    if task.until is not None:
        bounds = (cut.proven_offset, paired.cut(task, task.until, windows).proven_offset)
        result = replace(result, batch=_pending(task, bounds, old, new, aborted))
    if not identified.timed:
        appended = all((*old.log_append, *new.log_append))
        cut = replace(cut, unread_since=cut.unread_since if appended else None, since_append=appended)
    return replace(result, cut=_no_better_than_masked(cut, identified))


def _without_result(task: Task, old: Records, new: Records, paired: Paired, origins: Mapping[int, int]) -> Answer:
    identified = paired.identified
    return Answer(
        made_of=identified.made_of,
        timed=identified.timed,
        ignored_headers=identified.ignored_headers,
        schema_ids=identified.schema_ids,
        time_before=_time_before(task.position, old),
        times=_times(task, old, new, paired),
        origin_shift=_origin_shift(task.position, origins),
    )


def _pending(
    task: Task, bounds: tuple[int | None, int | None], old: Records, new: Records, aborted: Records
) -> Pending | None:
    start, end = bounds
    last = task.until
    if start is None or end is None or last is None or start > end:
        return None
    if not task.old.start <= task.position <= last <= task.old.end:
        return None
    of_old, of_aborted = (_within(records, task.position, last) for records in (old, aborted))
    identified = Paired(of_old, _within(new, start, end), of_aborted).identified
    return Pending(start=start, end=end, same=Counter(identified.old) == Counter(identified.new))


def _within(records: Records, start: int, end: int) -> Records:
    low, high = bisect_left(records.offsets, start), bisect_left(records.offsets, end)
    return Records(**{name: getattr(records, name)[low:high] for name in Records.__slots__})


def records_of(table: Any) -> Records:
    columns = {name: table.column(name).to_pylist() for name in RECORD_COLUMNS}
    return Records(
        offsets=columns["offset"],
        timestamps=columns["timestamp"],
        log_append=columns["log_append"],
        content=columns["content"],
        masked=columns["masked"],
        key_schema=columns["key_schema"],
        value_schema=columns["value_schema"],
        headers=[tuple((h["name"], h["hash"]) for h in headers or ()) for headers in columns["headers"]],
    )


def _origins(table: Any) -> dict[int, int]:
    pairs = zip(table.column("offset").to_pylist(), table.column("origin").to_pylist(), strict=True)
    return {offset: origin for offset, origin in pairs if origin is not None}


def _mean_size(*tables: Any) -> int | None:
    sizes = [table.column("size").to_pylist() for table in tables if table.num_rows]
    return max((-(-sum(size) // len(size)) for size in sizes), default=None)


def _origin_shift(position: int, origins: Mapping[int, int]) -> int | None:
    if not origins:
        return None
    nearest = min(origins, key=lambda offset: abs(origins[offset] - position))
    return nearest - origins[nearest]


def _only_aborted(everything: Records, committed: Records) -> Records:
    visible = set(committed.offsets)
    keep = [index for index, offset in enumerate(everything.offsets) if offset not in visible]
    return Records(**{name: [getattr(everything, name)[index] for index in keep] for name in Records.__slots__})


def _window(span: Span, whole: Span, records: Records, identities: tuple[bytes, ...]) -> LogWindow:
    return LogWindow(
        start=span.start,
        end=span.end,
        at_start=span.start <= whole.start,
        at_end=span.end >= whole.end,
        offsets=records.offsets,
        identities=identities,
        timestamps=records.timestamps,
    )


def _time_before(position: int, old: Records) -> int | None:
    at = bisect_left(old.offsets, position)
    return old.timestamps[at - 1] if at else None


def _times(task: Task, old: Records, new: Records, paired: Paired) -> Times:
    at = bisect_left(old.offsets, task.position)
    last = old.timestamps[max(0, at - RUN) : at]
    before = tuple(time for time in last if time is not None)
    return Times(
        before=before if len(before) == len(last) else (),
        by_broker=at > 0 and old.log_append[at - 1],
        newest_before=paired.old_times.newest(at),
        back_ms=paired.old_times.back_ms,
        old_is_empty=not old.offsets and _is_whole(task.old, task.old_whole),
        new_is_whole=_is_whole(task.new, task.new_whole),
        newest_new=paired.new_times.newest(len(new.offsets)),
        new_ahead=len(new.offsets) - bisect_left(new.offsets, task.position),
    )


def _is_whole(span: Span, whole: Span) -> bool:
    return span.start <= whole.start and span.end >= whole.end


def _no_better_than_masked(cut: Cut, identified: Identified) -> Cut:
    """Downgrade a cut whose records match only with masked schema ids: content may differ."""
    if identified.schema_ids and cut.exactness is Exactness.EXACT:
        return replace(cut, exactness=Exactness.POSITION_EXACT)
    return cut


def moved() -> Answer:
    """Return the answer for a log whose start passed the records while they were read."""
    return Answer(cut=Cut(exactness=Exactness.UNKNOWN, reason=Reason.LOG_MOVED))


def looks_differ(clause: str) -> Answer:
    return Answer(cut=Cut(exactness=Exactness.UNKNOWN, reason=Reason.LOOKS_DIFFER, looks=clause))
