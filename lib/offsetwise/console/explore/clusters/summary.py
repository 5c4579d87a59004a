from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from offsetwise import wording
from offsetwise.clusters.mirror_health import Mirrored, MirrorHealth, mirror_health
from offsetwise.clusters.pairs import TopicDifference, TopicPair, differences, pair_topics
from offsetwise.clusters.reading import ReadCluster
from offsetwise.console.answers import CachedAnswer
from offsetwise.console.widgets import escaping, terms
from offsetwise.console.widgets.cached import cached, told_apart_by
from offsetwise.digits import whole_number
from offsetwise.model import GroupState, PartitionState, TopicState
from offsetwise.wording.verdicts import Tone, Verdict

HeldCluster = CachedAnswer[ReadCluster]


@told_apart_by(lambda view: view.ids)
@dataclass(frozen=True, kw_only=True)
class View:
    ids: tuple[int | None, int | None]
    """Ids of both readings, the keys of what is cached from them; None if a cluster was not read."""
    old: ReadCluster | None
    new: ReadCluster | None
    pairs: tuple[TopicPair, ...]
    differences: dict[tuple[str | None, str | None], tuple[TopicDifference, ...]]
    """By the key of the pair."""
    health: MirrorHealth

    @cached_property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pair.name for pair in self.pairs))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(sorted({*self.group_states("old"), *self.group_states("new")}))

    @cached_property
    def differing(self) -> int:
        return sum(1 for difference in self.differences.values() if difference)

    def group_states(self, side: str) -> dict[str, GroupState]:
        read = self.old if side == "old" else self.new
        return {} if read is None else {group.name: group for group in read.snapshot.groups}

    def chosen(self, topics: tuple[str, ...], *, only_differing: bool) -> tuple[TopicPair, ...]:
        return tuple(
            pair
            for pair in self.pairs
            if (not topics or pair.name in topics) and (not only_differing or self.differences[pair.key])
        )


OLD: Final = "● old"
NEW: Final = "◆ new"
NO_TOPIC: Final = "Neither cluster shows the console's user a topic of this migration."
_NOT_RECORDS: Final = "What they hold is not compared here: Compare does that on the records."
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


@cached(8)
def view(old: HeldCluster | None, new: HeldCluster | None) -> View:
    read = (None if old is None else old.value, None if new is None else new.value)
    pairs = pair_topics(*read)
    return View(
        ids=(None if old is None else old.id, None if new is None else new.id),
        old=read[0],
        new=read[1],
        pairs=pairs,
        differences={pair.key: differences(pair) for pair in pairs},
        health=mirror_health(*read),
    )


def verdict(pair: TopicPair, differences: Sequence[TopicDifference]) -> Verdict:
    if not pair.both_read:
        return Verdict(icon="?", word="other cluster not read", tone=Tone.UNKNOWN)
    if pair.new is None:
        return Verdict(icon="!", word="not on new", tone=Tone.WRONG)
    if pair.old is None:
        return Verdict(icon="?", word="only on new", tone=Tone.UNKNOWN)
    if not pair.described:
        return Verdict(icon="?", word="not described", tone=Tone.UNKNOWN)
    if not pair.old.config or not pair.new.config:
        return Verdict(icon="?", word="configuration not read", tone=Tone.UNKNOWN)
    if not differences:
        return Verdict(icon="✓", word="same", tone=Tone.RIGHT)
    return Verdict(icon="▲", word=wording.many(len(differences), "difference"), tone=Tone.CAREFUL)


def answer(view: View) -> tuple[Tone, str]:
    """Describe in one sentence how the two clusters compare. Markdown, names escaped."""
    if view.old is None or view.new is None:
        missing = "old" if view.old is None else "new"
        message = f"**The {missing} cluster was not read.** What the other one says is shown below."
        return Tone.UNKNOWN, terms.said(message)
    absent = [pair for pair in view.pairs if pair.new is None]
    if absent:
        names = wording.first_of([escaping.markdown(pair.name) for pair in absent], 3)
        return (
            Tone.WRONG,
            f"**{terms.said(wording.many(len(absent), 'topic'))} of {terms.said('the old cluster')} "
            f"{'has' if len(absent) == 1 else 'have'} no counterpart on the new one:** {names}.",
        )
    if view.differing:
        which = (
            f"{view.differing:,} of {len(view.pairs):,} topics differ" if len(view.pairs) > 1 else "The topic differs"
        )
        return (
            Tone.CAREFUL,
            terms.said(
                f"**{which}** between the clusters, in "
                "partitions or configuration. What each difference means is below."
            ),
        )
    if not view.pairs:
        return Tone.UNKNOWN, terms.said(f"**No topic to show.** {NO_TOPIC}")
    which = "The topic agrees" if len(view.pairs) == 1 else f"All {len(view.pairs):,} topics agree"
    return Tone.RIGHT, terms.said(f"**{which}** in partitions and configuration. {_NOT_RECORDS}")


def duration(milliseconds: str | None) -> str:
    """Format a configured time.

    >>> duration("604800000"), duration("-1"), duration("90500"), duration(None)
    ('7 d', 'no limit', '90,500 ms', '?')
    """
    if milliseconds == "-1":
        return "no limit"
    value = whole_number(milliseconds or "")
    if value is None:
        return "?"
    size, unit = next(((size, unit) for size, unit in _UNITS if value and value % size == 0), (1, "ms"))
    return f"{value // size:,} {unit}"


def retention(topic: TopicState | None) -> str:
    config = {} if topic is None else dict(topic.config)
    if not config:
        return "?"
    size = config.get("retention.bytes", "-1")
    size_bytes = whole_number(size)
    by_size = "" if size == "-1" else ", ?" if size_bytes is None else f", {wording.number(size_bytes)} bytes"
    return duration(config.get("retention.ms")) + by_size


def both(old: str, new: str) -> str:
    """Format one value if both agree, otherwise both.

    >>> both("delete", "delete"), both("delete", "compact")
    ('delete', 'delete → compact')
    """
    return old if old == new else f"{old} → {new}"


def span(partition: PartitionState | None) -> int | None:
    if partition is None or partition.log_start is None or partition.hw is None:
        return None
    return partition.hw - partition.log_start


def mirrored(row: Mirrored) -> Verdict:
    if row.new_behind is not None and row.new_behind < 0:
        return Verdict(icon="!", word="new log ends before it", tone=Tone.WRONG)
    if row.apart is None:
        return Verdict(icon="?", word="log not read", tone=Tone.UNKNOWN)
    if row.apart > 0:
        return Verdict(icon="▼", word=f"{row.apart:,} fewer on new", tone=Tone.CAREFUL)
    if row.apart < 0:
        return Verdict(icon="▲", word=f"{-row.apart:,} more on new", tone=Tone.UNKNOWN)
    return Verdict(icon="✓", word="level", tone=Tone.RIGHT)
