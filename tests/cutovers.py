"""What watching the old logs shows, from looks that are given as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offsetwise.lag.cutover import CopiesFound, LogWatch, findings_of, state_of
from offsetwise.model import ClusterRef, Cutover, LateCommit, LogWriter, Outcome, TopicPartition
from offsetwise.ports.log_observations import LogEnd, LogsLook

STILL_MS: Final = 10_000
WRITERS: Final = (
    LogWriter(producer_id=4_001, last_timestamp_ms=None),
    LogWriter(producer_id=7, last_timestamp_ms=None),
)
AT: Final = "2026-11-27T12:00:00Z"
DAY_MS: Final = 1_795_759_200_000
Ends = Sequence[tuple[int | None, int | None]]
"""The end and the last stable offset that each look found, a second apart."""
STILL: Final[Ends] = [(100, 100)] * 11
GROWING: Final[Ends] = [(100, 100), (150, 150)]
DRAINING: Final[Ends] = [(100, 100), (130, 130), (130, 130)]
OPEN_TRANSACTION: Final[Ends] = [(100, 90)] * 11


def seen(
    logs: Sequence[Ends], *, copied: Sequence[bool] = (), late: tuple[LateCommit, ...] = (), topic: str = "orders"
) -> Cutover:
    """Return what looks showed of as many partitions; logs with fewer looks had the first end before."""
    watch = LogWatch(still_for_ms=STILL_MS)
    parts = [TopicPartition(topic, number) for number in range(len(logs))]
    looks = max(map(len, logs))
    for number in range(looks):
        look = LogsLook(
            cluster_id="id-of-old",
            logs={at: LogEnd(*ends[max(0, number - looks + len(ends))]) for at, ends in zip(parts, logs, strict=True)},
            writers=dict.fromkeys(parts, WRITERS) if number else {},
        )
        at_ms = 1_000 * number
        watch.heard(look, began_ms=at_ms, over_ms=at_ms, clock_ms=DAY_MS + at_ms)
    told = ("The last record read before 100 has no copy on the new log.", "Its last record is on the new cluster.")
    copies = {
        at: CopiesFound(end=watch.ends.get(at, 0), outcome=(Outcome.FAILED, Outcome.PASSED)[here], message=told[here])
        for at, here in zip(parts, copied, strict=False)
    }
    rows = watch.partitions(str, copies)
    cluster = ClusterRef(name="old", cluster_id="id-of-old", taken_at=AT)
    return Cutover(
        migration="test",
        plan=None,
        began_at=AT,
        taken_at=AT,
        looks_taken=watch.look_count,
        still_for_ms=STILL_MS,
        state=state_of(rows),
        old=cluster,
        new=cluster,
        partitions=rows,
        late_commits=late,
        findings=findings_of(rows, "etl", late),
    )
