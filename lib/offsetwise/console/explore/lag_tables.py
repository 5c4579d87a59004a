"""The tables and the sentences of the Lag screen. Every number is a nullable integer, so unknown stays unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from offsetwise import wording
from offsetwise.console.answers import CachedAnswer
from offsetwise.console.widgets import table, terms
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import cell, markdown, plain, sentence
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.lag.amounts import Furthest, Total, behind_ms, drift, in_time, lag, totals
from offsetwise.lag.archive import StoredSample, StoredTotals
from offsetwise.lag.rates import Rate
from offsetwise.lag.series import GAP_INTERVALS
from offsetwise.lag.times import TimeLag, TimeMethod
from offsetwise.lag.view import LagSide, LagView, PartitionView
from offsetwise.model import AnyPosition, Cluster, LagPart, LagPartition, LagSample, MissingPart
from offsetwise.wording import clock, duration, many, number, signed, verdicts
from offsetwise.wording.time_lag import lag_text
from offsetwise.wording.verdicts import Tone

MOST_GROUPS = 8
"""Groups with a column of their own; the downloads have all."""
Shown = CachedAnswer[LagView | None]
Partition = CachedAnswer[PartitionView | None]
Rows = tuple[LagPartition, ...]
MARK = {Cluster.OLD: "●", Cluster.NEW: "◆"}
"""As in the charts: old is a solid circle, new a hatched diamond."""
_PARTS = {LagPart.OLD: "the old cluster", LagPart.NEW: "the new cluster", LagPart.POSITIONS: "the positions"}


def _in_time(points: Sequence[StoredTotals]) -> bool:
    return any(point.furthest for point in points)


def _in_records(points: Sequence[StoredTotals]) -> bool:
    return not _in_time(points)


TOTALS: Final[Columns[StoredTotals]] = (
    Column("time (UTC)", lambda point: Time(point.head.taken_at_ms)),
    Column("behind, old (ms)", lambda point: _late(point, Cluster.OLD), when=_in_time),
    Column("behind, new (ms)", lambda point: _late(point, Cluster.NEW), when=_in_time),
    Column("lag old", lambda point: _remaining(point.totals.old), when=_in_records),
    Column("past the end, old", lambda point: _past(point.totals.old), when=_in_records),
    Column("lag new", lambda point: _remaining(point.totals.new), when=_in_records),
    Column("past the end, new", lambda point: _past(point.totals.new), when=_in_records),
    Column("unknown, old", lambda point: point.totals.old.unknown, when=_in_records),
    Column("unknown, new", lambda point: point.totals.new.unknown, when=_in_records),
    Column("not read", lambda point: ", ".join(part.part.value for part in point.head.missing)),
    Column("gap before", lambda point: "yes" if point.after_gap else ""),
)
"""The numbers behind the chart of totals."""


def partitions(sample: LagSample, claimed: LagSample, *, groups: int = MOST_GROUPS) -> Columns[LagPartition]:
    """Return the columns of the partitions: positions on both clusters, lag, and group drift.

    Args:
        sample: The sample, counted from proven offsets if there are any.
        claimed: The same sample, with the offsets that the mirror claims.
        groups: How many groups have a column.
    """
    claims = {row.key: row.new_position for row in claimed.partitions}

    def remaining_column(side: Cluster) -> Column[LagPartition]:
        if in_time(sample):
            return Column(f"behind, {side}", lambda row: lag_text(row.time_lag_on(side)), 220)

        def amount(row: LagPartition) -> int | None:
            return lag(row, side, sample.isolation_level)

        return Column(f"lag {side}", amount, tone=lambda row: Tone.WRONG if (amount(row) or 0) < 0 else None)

    return (
        Column("topic", lambda row: row.topic, 84, pinned=True),
        table.partition(lambda row: row.partition, pinned=True),
        Column("position", lambda row: row.position, 90, heading="old position"),
        remaining_column(Cluster.OLD),
        Column(
            "place on new",
            lambda row: row.new_position,
            94,
            "Proven on the records where `exactness` says so.",
            heading="new position",
        ),
        remaining_column(Cluster.NEW),
        Column(
            "claimed",
            lambda row: claims.get(row.key),
            70,
            "Where the mirror says that the position is; the lag does not count from it where another one is proven.",
            when=lambda rows: any(claims.get(row.key) != row.new_position for row in rows),
        ),
        *(
            Column(f"drift of {cell(group)}", partial(drift, group=index), printed=signed)
            for index, group in enumerate(sample.groups[:groups])
            if group != sample.group
        ),
        Column("by", lambda row: row.method.value, 116, "How the position on new was found.", heading="found by"),
        Column("exactness", lambda row: verdicts.EXACTNESS[row.exactness], 84),
        Column("old log start", lambda row: row.old.log_start, 86),
        Column("old HW", lambda row: row.old.hw),
        Column("new log start", lambda row: row.new.log_start, 92),
        Column("new HW", lambda row: row.new.hw),
    )


def history(group: int | None) -> Columns[StoredSample]:
    def of(
        value: Callable[[LagPartition, LagSample], AnyPosition | None],
    ) -> Callable[[StoredSample], AnyPosition | None]:
        return lambda sample: next((value(row, sample.sample) for row in sample.sample.partitions), None)

    return (
        Column("time (UTC)", lambda sample: Time(sample.sample.taken_at_ms)),
        Column("position", of(lambda row, _: row.position), heading="old position"),
        Column("old end", of(lambda row, _: row.old.hw), when=_counted),
        Column("lag old", of(lambda row, sample: lag(row, Cluster.OLD, sample.isolation_level)), when=_counted),
        Column("behind, old (ms)", of(lambda row, _: behind_ms(row, Cluster.OLD)), when=_timed),
        Column("place on new", of(lambda row, _: row.new_position), heading="new position"),
        Column("new end", of(lambda row, _: row.new.hw), when=_counted),
        Column("lag new", of(lambda row, sample: lag(row, Cluster.NEW, sample.isolation_level)), when=_counted),
        Column("behind, new (ms)", of(lambda row, _: behind_ms(row, Cluster.NEW)), when=_timed),
        Column("drift", of(lambda row, _: None if group is None else drift(row, group)), printed=signed),
        Column("gap before", lambda sample: "yes" if sample.after_gap else ""),
    )


def _timed(moments: Sequence[StoredSample]) -> bool:
    return any(in_time(moment.sample) for moment in moments)


def _counted(moments: Sequence[StoredSample]) -> bool:
    return not _timed(moments)


def _late(point: StoredTotals, side: Cluster) -> int | None:
    worst = point.furthest.get(side)
    return None if worst is None else worst.ms


def _remaining(of: Total) -> int | None:
    return of.left if of.known else None


def _past(of: Total) -> int | None:
    return of.past if of.known else None


@cached(32)
def rows(answer: Shown, view: LagView, topics: tuple[str, ...], *, worst_first: bool) -> Rows:  # noqa: ARG001 - the key
    """Return the partitions of these topics, or of all if empty; the worst first, or in log order."""
    sample = view.newest.sample
    lag_partitions = [row for row in sample.partitions if not topics or row.topic in topics]
    if worst_first:
        timed = in_time(sample)
        lag_partitions.sort(key=lambda row: _late_first(row) if timed else _urgency(row, sample))
    return tuple(lag_partitions)


@cached(32)
def partition_table(
    answer: Shown,  # noqa: ARG001 - the key
    view: LagView,
    page: Rows,
    colours: Palette,
    claimed: LagView,
) -> table.Prepared:
    return table.prepared(partitions(view.newest.sample, claimed.newest.sample), page, colours)


@cached(32)
def topics(answer: Shown, view: LagView) -> tuple[str, ...]:  # noqa: ARG001 - the key
    return tuple(sorted({row.topic for row in view.newest.sample.partitions}))


def _urgency(row: LagPartition, sample: LagSample) -> tuple[int, int]:
    amounts = [lag(row, side, sample.isolation_level) for side in Cluster]
    known = [amount for amount in amounts if amount is not None]
    if any(amount < 0 for amount in known):
        return 0, min(known)
    if len(known) < len(amounts):
        return 1, -max(known, default=0)
    return 2, -max(known)


def _late_first(row: LagPartition) -> tuple[int, int]:
    late = [behind_ms(row, side) for side in Cluster if row.position_on(side) is not None]
    return 1 if None in late else 2, -max((lag_ms for lag_ms in late if lag_ms is not None), default=-1)


def signed_lag(value: int | None) -> str:
    """Format a lag as Markdown; a negative one in red words.

    >>> signed_lag(1_150), signed_lag(-100), signed_lag(None)
    ('1,150', ':red[100 past the end]', '?')
    """
    return f":red[{-value:,} past the end]" if value is not None and value < 0 else number(value)


def total(of: Total) -> str:
    return number(of.left) if of.known else "?"


def tone(of: Total) -> Tone | None:
    """Return the tone of a total: WRONG if a position is past a log's end, UNKNOWN if nothing is known.

    >>> from offsetwise.lag.amounts import total as add
    >>> tone(add([150, -100])), tone(add([None])), tone(add([150]))
    (<Tone.WRONG: 'wrong'>, <Tone.UNKNOWN: 'unknown'>, None)
    """
    if of.past:
        return Tone.WRONG
    return None if of.known else Tone.UNKNOWN


def furthest_note(of: Furthest | None) -> str:
    """Describe what the time on a card refers to, as Markdown."""
    if of is None:
        return ":gray[no time is known]"
    return (
        f"? in {many(of.unknown, 'partition')}"
        if of.unknown
        else f":gray[the {terms.said('partition')} furthest behind]"
    )


def total_note(of: Total) -> str:
    """Describe what a total leaves out, as Markdown; empty if nothing.

    >>> from offsetwise.lag.amounts import total as add
    >>> total_note(add([150, -100, None]))
    ':red[100 past the end in 1 partition], ? in 1 partition'
    """
    parts = []
    if of.past:
        parts.append(f":red[{of.past:,} past the end in {many(of.past_partitions, 'partition')}]")
    if of.unknown:
        parts.append(f"? in {many(of.unknown, 'partition')}")
    return ", ".join(parts)


def time(of: TimeLag) -> str:
    """Describe when the next record was written, with the method.

    >>> time(TimeLag(method=TimeMethod.OLDER, at_least_ms=90_000))
    'more than 1 min 30 s ago (older than our samples)'
    """
    match of.method:
        case TimeMethod.AT_END:
            return "not yet: nothing is left to read"
        case TimeMethod.INTERPOLATED:
            return (
                f"about {duration(of.estimate_ms)} ago ({of.method.value}: {duration(of.at_least_ms)} to "
                f"{duration(of.at_most_ms)})"
            )
        case TimeMethod.OLDER:
            return f"more than {duration(of.at_least_ms)} ago ({of.method.value})"
        case TimeMethod.PAST_END:
            return "not yet: the position is past the end"
        case TimeMethod.UNKNOWN:
            return "? (not read in the newest sample, or no position)"


def growth(of: Rate | None) -> str:
    if of is None:
        return "? (fewer than two samples)"
    return f"{of.per_second:,.1f} records a second, over {duration(of.elapsed_ms)}"


def start_reaches(of: LagSide, sample: LagSample) -> str:
    if of.start_reaches_ms is None:
        return "not foreseen: the log start did not move in this window, or is not known"
    if of.start_reaches_ms == 0:
        return "! it has passed the position"
    return f"{clock(sample.taken_at_ms + of.start_reaches_ms)}, at the rate of this window"


def missing(of: MissingPart) -> str:
    return f"**{_PARTS[of.part].capitalize()} could not be read.** {sentence(of.problem)}"


def takeaway(points: tuple[StoredTotals, ...]) -> str:
    if not points:
        return "No sample."
    first, last = points[0], points[-1]
    gaps = sum(point.after_gap for point in points)
    lacking = sum(bool(point.head.missing) for point in points)
    sentences = (
        [
            f"The partition furthest behind on {side} went from {_told_late(first, side)} to {_told_late(last, side)}"
            for side in Cluster
        ]
        if _in_time(points)
        else [
            f"Lag {side} went from {_amount(first.totals.lag(side))} to {_amount(last.totals.lag(side))}"
            for side in Cluster
        ]
    )
    sentences.append(f"{many(len(points), 'moment')}, {many(gaps, 'gap')}")
    if lacking:
        sentences.append(f"in {many(lacking, 'moment')} something was not read")
    return f"{'. '.join(sentences)}."


def newest(shown: LagView, now: datetime) -> str:
    """Describe when the newest sample was taken, by whom, and where it is stored. Markdown."""
    at_ms = shown.newest.sample.taken_at_ms
    ago = int(now.timestamp() * 1000) - at_ms
    by = shown.newest.sample.sampled_by
    archive = "" if by == shown.archive else f", kept in {markdown(shown.archive)}"
    return f"Newest sample {clock(at_ms)}, {duration(max(0, ago))} ago, by {markdown(by)}{archive}."


def overdue(sample: LagSample, now: datetime) -> bool:
    age_ms = now.timestamp() * 1000 - sample.taken_at_ms
    return sample.interval_ms is None or age_ms > GAP_INTERVALS * sample.interval_ms


def command(migration_file: str, subject: str) -> str:
    kind, _, name = subject.partition(" ")
    quoted = "'" + plain(name).replace("'", "'\\''") + "'"
    return f"offsetwise watch --migration {migration_file} --{kind} {quoted} --every 30"


def counted_from(side: Cluster, view: LagView, claimed: LagView) -> str:
    """Describe what a lag is counted from, with the mirror's claim if that gives another number. Markdown."""
    by_claim = totals(claimed.newest.sample).lag(side)
    if by_claim == totals(view.newest.sample).lag(side):
        return ":gray[known in every partition]"
    return f":gray[from proven positions; {total(by_claim)} by the mirror's claim]"


def partition_takeaway(shown: PartitionView) -> str:
    row, sample = shown.row, shown.history[-1].sample
    timed = in_time(sample)
    sentences = [
        f"Behind on {side}: {lag_text(None if row is None else row.time_lag_on(side))}"
        if timed
        else f"Lag on {side} is {wording.lag(None if row is None else lag(row, side, sample.isolation_level))}"
        for side in Cluster
    ]
    gaps = sum(stored_sample.after_gap for stored_sample in shown.history)
    return f"{', '.join(sentences)} in the newest of {len(shown.history):,} samples, with {gaps} gaps."


def drift_takeaway(ahead: int | None) -> str:
    """Describe how far a group's committed offset is from the position.

    >>> drift_takeaway(-606)
    'the group has committed 606 records behind the position'

    Args:
        ahead: Records by which the group is ahead; None if either offset is not known.
    """
    if ahead is None:
        return "how far the group's commit is from the position is not known"
    if ahead == 0:
        return "the group has committed the position"
    return f"the group has committed {many(abs(ahead), 'record')} {'ahead of' if ahead > 0 else 'behind'} the position"


def _told_late(point: StoredTotals, side: Cluster) -> str:
    late = _late(point, side)
    return "unknown" if late is None else duration(late)


def _amount(of: Total) -> str:
    if not of.known:
        return "unknown"
    past = f" and {of.past:,} past the end" if of.past else ""
    return f"{of.left:,}{past}"
