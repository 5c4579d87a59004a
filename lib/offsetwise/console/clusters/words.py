"""What the Clusters screen says: verdicts, times and sizes, sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offsetwise import wording
from offsetwise.clusters.mirror_health import Mirrored
from offsetwise.clusters.pairs import Difference, TopicPair
from offsetwise.console import escaping
from offsetwise.console.clusters.view import View
from offsetwise.model import PartitionState, TopicState
from offsetwise.wording.verdicts import Tone

OLD: Final = "● old"
NEW: Final = "◆ new"
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def verdict(pair: TopicPair, found: Sequence[Difference]) -> tuple[Tone, str]:
    """Say how the two topics of a pair compare, with an icon and a word."""
    if not pair.both_read:
        return Tone.UNKNOWN, "? other cluster not read"
    if pair.new is None:
        return Tone.WRONG, "! not on new"
    if pair.old is None:
        return Tone.UNKNOWN, "? only on new"
    if not pair.described:
        return Tone.UNKNOWN, "? not described"
    if not pair.old.config or not pair.new.config:
        return Tone.UNKNOWN, "? configuration not read"
    if not found:
        return Tone.RIGHT, "✓ same"
    return Tone.CAREFUL, f"▲ {wording.many(len(found), 'difference')}"


def answer(view: View) -> tuple[Tone, str]:
    """Say in one sentence how the two clusters compare. Markdown, names escaped."""
    if view.old is None or view.new is None:
        missing = "old" if view.old is None else "new"
        return Tone.UNKNOWN, f"**The {missing} cluster was not read.** What the other one says is shown below."
    absent = [pair for pair in view.pairs if pair.new is None]
    if absent:
        names = ", ".join(escaping.markdown(pair.name) for pair in absent[:3])
        more = f" and {len(absent) - 3:,} more" if len(absent) > 3 else ""
        return (
            Tone.WRONG,
            f"**{wording.many(len(absent), 'topic')} of the old cluster "
            f"{'has' if len(absent) == 1 else 'have'} no counterpart on the new one:** {names}{more}.",
        )
    if view.differing:
        return (
            Tone.CAREFUL,
            f"**{view.differing:,} of {wording.many(len(view.pairs), 'topic')} differ** between the clusters, in "
            "partitions or configuration. What each difference means stands below.",
        )
    if not view.pairs:
        return Tone.UNKNOWN, "**No topic to show.** Neither cluster shows one of this migration to the user."
    if len(view.pairs) == 1:
        return Tone.RIGHT, "**The topic agrees** in partitions and configuration."
    return Tone.RIGHT, f"**All {len(view.pairs):,} topics agree** in partitions and configuration."


def duration(milliseconds: str | None) -> str:
    """Print a configured time.

    >>> duration("604800000"), duration("-1"), duration("90500"), duration(None)
    ('7 d', 'no limit', '90,500 ms', '?')
    """
    if milliseconds is None or not milliseconds.lstrip("-").isdigit():
        return "?"
    if milliseconds.startswith("-"):
        return "no limit"
    value = int(milliseconds)
    size, unit = next(((size, unit) for size, unit in _UNITS if value and value % size == 0), (1, "ms"))
    return f"{value // size:,} {unit}"


def retention(topic: TopicState | None) -> str:
    """Say what retention does, by time and by size."""
    config = {} if topic is None else dict(topic.config)
    if not config:
        return "?"
    size = config.get("retention.bytes", "-1")
    by_size = "" if size == "-1" else f", {wording.number(int(size))} bytes" if size.isdigit() else ", ?"
    return duration(config.get("retention.ms")) + by_size


def both(old: str, new: str) -> str:
    """Print one value where they agree, two where they differ.

    >>> both("delete", "delete"), both("delete", "compact")
    ('delete', 'delete → compact')
    """
    return old if old == new else f"{old} → {new}"


def held(partition: PartitionState | None) -> int | None:
    """Give how many offsets a log spans; None where it was not read."""
    if partition is None or partition.log_start is None or partition.hw is None:
        return None
    return partition.hw - partition.log_start


def mirrored(row: Mirrored) -> tuple[Tone, str]:
    """Say how the two logs stand behind the newest sync."""
    if row.new_behind is not None and row.new_behind < 0:
        return Tone.WRONG, "! new log ends before it"
    if row.apart is None:
        return Tone.UNKNOWN, "? log not read"
    if row.apart > 0:
        return Tone.CAREFUL, f"▼ {row.apart:,} fewer on new"
    if row.apart < 0:
        return Tone.UNKNOWN, f"▲ {-row.apart:,} more on new"
    return Tone.RIGHT, "✓ level"
