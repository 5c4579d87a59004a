"""What the Lag screen says: lags, times and rates in words, never without how they are known."""

from __future__ import annotations

from datetime import UTC, datetime

from offsetwise.console.escaping import markdown, plain
from offsetwise.lag.amounts import Total
from offsetwise.lag.archive import StoredTotals
from offsetwise.lag.rates import Rate
from offsetwise.lag.series import GAP_INTERVALS
from offsetwise.lag.times import TimeLag, TimeMethod
from offsetwise.lag.view import LagView, Side
from offsetwise.model import Cluster, LagPart, LagSample, MissingPart
from offsetwise.wording import duration, many, number, utc

MARK = {Cluster.OLD: "●", Cluster.NEW: "◆"}
"""As in the charts: old is a solid circle, new a hatched diamond."""

_PARTS = {LagPart.OLD: "the old cluster", LagPart.NEW: "the new cluster", LagPart.POSITIONS: "the positions"}


def signed_lag(value: int | None) -> str:
    """Print a lag as Markdown; a negative one in red words.

    >>> signed_lag(1_150), signed_lag(-100), signed_lag(None)
    ('1,150', ':red[100 past the end]', '?')
    """
    return f":red[{-value:,} past the end]" if value is not None and value < 0 else number(value)


def total(of: Total) -> str:
    """Print a total as the value of a card."""
    return number(of.left) if of.known else "?"


def total_note(of: Total) -> str:
    """Say what a total leaves out, as Markdown; empty where nothing.

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
    """Say when the next record was written, with the method.

    >>> time(TimeLag(method=TimeMethod.OLDER, at_least_ms=90_000))
    'more than 90.0 s ago (older than our samples)'
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
    """Say how fast a log grows."""
    if of is None:
        return "? (fewer than two samples)"
    return f"{of.per_second:,.1f} records a second, over {duration(of.elapsed_ms)}"


def start_reaches(of: Side, sample: LagSample) -> str:
    """Say when the log start reaches the position."""
    if of.start_reaches_ms is None:
        return "not foreseen: the log start did not move in this window, or is not known"
    if of.start_reaches_ms == 0:
        return "! it has passed the position"
    return f"{utc(sample.taken_at_ms + of.start_reaches_ms)}, at the rate of this window"


def missing(of: MissingPart) -> str:
    """Say which part of a sample is not there."""
    return f"**{_PARTS[of.part].capitalize()} could not be read.** {markdown(of.problem)}"


def takeaway(points: tuple[StoredTotals, ...]) -> str:
    """Say what the chart of totals shows, for those who do not see it."""
    if not points:
        return "No sample."
    first, last = points[0], points[-1]
    gaps = sum(point.after_gap for point in points)
    lacking = sum(bool(point.head.missing) for point in points)
    told = [
        f"Lag {side} went from {_amount(first.totals.lag(side))} to {_amount(last.totals.lag(side))}"
        for side in Cluster
    ]
    told.append(f"{many(len(points), 'moment')}, {many(gaps, 'gap')}")
    if lacking:
        told.append(f"in {many(lacking, 'moment')} something was not read")
    return f"{'. '.join(told)}."


def newest(shown: LagView, now: datetime) -> str:
    """Say when the newest sample was taken, by whom, and where it is kept. Markdown."""
    at = datetime.fromtimestamp(shown.newest.sample.taken_at_ms / 1000, UTC)
    ago = int((now - at).total_seconds() * 1000)
    by = shown.newest.sample.sampled_by
    kept = "" if by == shown.archive else f", kept in {markdown(shown.archive)}"
    return f"Newest sample {at:%Y-%m-%d %H:%M:%S} UTC, {duration(max(0, ago))} ago, by {markdown(by)}{kept}."


def overdue(sample: LagSample, now: datetime) -> bool:
    """Say whether the next sample should have come by now."""
    age_ms = now.timestamp() * 1000 - sample.taken_at_ms
    return sample.interval_ms is None or age_ms > GAP_INTERVALS * sample.interval_ms


def command(migration_file: str, subject: str) -> str:
    """Give the command that samples a subject."""
    kind, _, name = subject.partition(" ")
    quoted = "'" + plain(name).replace("'", "'\\''") + "'"
    return f"offsetwise watch --migration {migration_file} --{kind} {quoted} --every 30"


def _amount(of: Total) -> str:
    if not of.known:
        return "unknown"
    past = f" and {of.past:,} past the end" if of.past else ""
    return f"{of.left:,}{past}"
