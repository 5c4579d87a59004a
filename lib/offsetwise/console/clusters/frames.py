"""The tables of the Clusters screen. Offsets are nullable integers, names are cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from offsetwise import wording
from offsetwise.clusters.mirror_health import Mirrored, MirrorHealth
from offsetwise.clusters.pairs import TopicPair
from offsetwise.clusters.retention import RetentionDeadline
from offsetwise.console import escaping
from offsetwise.console.clusters import words
from offsetwise.console.clusters.view import View
from offsetwise.console.escaping import cell
from offsetwise.model import GroupOffset, PartitionState, TopicState


def topic_table(pairs: Sequence[TopicPair], view: View) -> pd.DataFrame:
    """Give one row per pair of topics. `held` counts offsets from log start to HW, over all partitions."""
    return pd.DataFrame(
        {
            "old topic": [_name(pair.old_name) for pair in pairs],
            "new topic": [_name(pair.new_name) for pair in pairs],
            "verdict": [words.verdict(pair, view.differences[pair.key])[1] for pair in pairs],
            "p old": integers([_count(pair.old) for pair in pairs]),
            "p new": integers([_count(pair.new) for pair in pairs]),
            "held old": integers([_held(pair.old) for pair in pairs]),
            "held new": integers([_held(pair.new) for pair in pairs]),
            "cleanup": [_both(pair, "cleanup.policy") for pair in pairs],
            "retention": [_retention(pair) for pair in pairs],
            "timestamps": [_both(pair, "message.timestamp.type") for pair in pairs],
            "id old": [_id(pair.old) for pair in pairs],
            "id new": [_id(pair.new) for pair in pairs],
        }
    )


def partition_table(pairs: Iterable[TopicPair]) -> pd.DataFrame:
    """Give one row per partition: where both logs begin, are stable, and end."""
    rows = [(pair, number, old, new) for pair in pairs for number, old, new in partitions(pair)]
    return pd.DataFrame(
        {
            "old topic": [_name(pair.old_name) for pair, *_ in rows],
            "new topic": [_name(pair.new_name) for pair, *_ in rows],
            "p": integers([number for _, number, *_ in rows]),
            "old log start": integers([_of(old, "log_start") for *_, old, _ in rows]),
            "old LSO": integers([_of(old, "lso") for *_, old, _ in rows]),
            "old HW": integers([_of(old, "hw") for *_, old, _ in rows]),
            "new log start": integers([_of(new, "log_start") for *_, new in rows]),
            "new LSO": integers([_of(new, "lso") for *_, new in rows]),
            "new HW": integers([_of(new, "hw") for *_, new in rows]),
            "remark": [_remark(pair, old, new) for pair, _, old, new in rows],
        }
    )


def partitions(pair: TopicPair) -> list[tuple[int, PartitionState | None, PartitionState | None]]:
    """Give the partitions of both topics of a pair, by number."""
    sides = [
        {} if topic is None else {each.partition: each for each in topic.partitions} for topic in (pair.old, pair.new)
    ]
    return [(number, sides[0].get(number), sides[1].get(number)) for number in sorted({*sides[0], *sides[1]})]


def difference_table(pairs: Iterable[TopicPair], view: View) -> pd.DataFrame:
    """Give one row per topic and thing in which it differs."""
    rows = [(pair, each) for pair in pairs for each in view.differences[pair.key]]
    return pd.DataFrame(
        {
            "topic": [cell(pair.name) for pair, _ in rows],
            "what": [each.what for _, each in rows],
            "old": [_value(each.what, each.old) for _, each in rows],
            "new": [_value(each.what, each.new) for _, each in rows],
            "what it means": [each.meaning for _, each in rows],
        }
    )


def group_table(view: View) -> pd.DataFrame:
    """Give one row per group: its state, and how many partitions it committed, on both clusters."""
    old, new = view.group_states("old"), view.group_states("new")
    return pd.DataFrame(
        {
            "group": [cell(name) for name in view.groups],
            "state old": [_state(old.get(name)) for name in view.groups],
            "state new": [_state(new.get(name)) for name in view.groups],
            "committed old": integers([_committed(old.get(name)) for name in view.groups]),
            "committed new": integers([_committed(new.get(name)) for name in view.groups]),
        }
    )


def group_offset_table(view: View, group: str) -> pd.DataFrame:
    """Give what a group committed on both clusters, partition by partition, beside MirrorMaker's own answer."""
    names = {} if view.old is None else dict(view.old.counterparts)
    old, new = (_offsets(view.group_states(side).get(group)) for side in ("old", "new"))
    mm2 = _mirror_answers(view, group)
    keys = sorted({(names.get(topic, topic), number) for topic, number in old} | set(new) | set(mm2))
    back = {new_name: name for name, new_name in names.items()}
    commits = [(old.get((back.get(topic, topic), number)), new.get((topic, number))) for topic, number in keys]
    return pd.DataFrame(
        {
            "old topic": [cell(back.get(topic, topic)) for topic, _ in keys],
            "new topic": [cell(topic) for topic, _ in keys],
            "p": integers([number for _, number in keys]),
            "old offset": integers([None if one is None else one.offset for one, _ in commits]),
            "new offset": integers([None if one is None else one.offset for _, one in commits]),
            "MirrorMaker says": integers([mm2.get(key) for key in keys]),
            "hint": [
                "? new cluster not read" if view.new is None else _hint(one, other, mm2.get(key))
                for (one, other), key in zip(commits, keys, strict=True)
            ],
        }
    )


def mirrored_table(rows: Sequence[Mirrored]) -> pd.DataFrame:
    """Give how far each partition was mirrored, by its newest sync."""
    return pd.DataFrame(
        {
            "old topic": [cell(row.topic) for row in rows],
            "p": integers([row.partition for row in rows]),
            "verdict": [words.mirrored(row)[1] for row in rows],
            "mirrored up to": integers([row.upstream for row in rows]),
            "on new": integers([row.downstream for row in rows]),
            "behind, old": integers([row.old_behind for row in rows]),
            "behind, new": integers([row.new_behind for row in rows]),
        }
    )


def mirror_topic_table(health: MirrorHealth) -> pd.DataFrame:
    """Give MirrorMaker's own topics, and how reading them went."""
    return pd.DataFrame(
        {
            "cluster": [side for side, _ in health.topics],
            "topic": [cell(topic.name) for _, topic in health.topics],
            "holds": [topic.kind for _, topic in health.topics],
            "records": integers([topic.records for _, topic in health.topics]),
            "undecodable": integers([topic.undecodable for _, topic in health.topics]),
            "newest record (UTC)": [wording.moment(topic.newest_ms) for _, topic in health.topics],
            "problem": [escaping.plain(topic.error or "") for _, topic in health.topics],
        }
    )


def retention_table(deadlines: Sequence[RetentionDeadline]) -> pd.DataFrame:
    """Give when retention can reach each position."""
    return pd.DataFrame(
        {
            "position of": [cell(each.standing.of) for each in deadlines],
            "topic": [cell(each.standing.partition.topic) for each in deadlines],
            "p": integers([each.standing.partition.partition for each in deadlines]),
            "offset": integers([each.standing.offset for each in deadlines]),
            "reached from (UTC)": [_reached(each) for each in deadlines],
            "record time (UTC)": [wording.moment(each.standing.record_ms) for each in deadlines],
            "method": [each.method.value for each in deadlines],
            "why": [each.why for each in deadlines],
        }
    )


def integers(values: Sequence[int | None]) -> pd.Series[int]:
    """Make a column of nullable integers."""
    return pd.Series(pd.array(list(values), dtype="Int64"))


def _reached(deadline: RetentionDeadline) -> str:
    if deadline.at_ms is not None:
        return wording.moment(deadline.at_ms)
    return {"no limit": "never", "log start": "reached already"}.get(deadline.method.value, "?")


def _name(name: str | None) -> str:
    return "" if name is None else cell(name)


def _count(topic: TopicState | None) -> int | None:
    return None if topic is None or topic.error is not None else len(topic.partitions)


def _held(topic: TopicState | None) -> int | None:
    if topic is None or not topic.partitions:
        return None
    spans = [words.held(each) for each in topic.partitions]
    known = [span for span in spans if span is not None]
    return sum(known) if len(known) == len(spans) else None


def _both(pair: TopicPair, key: str) -> str:
    values = [
        "?" if topic is None or not topic.config else dict(topic.config).get(key, "?")
        for topic in (pair.old, pair.new)
        if topic is not None
    ]
    return cell(words.both(values[0], values[-1])) if values else "?"


def _retention(pair: TopicPair) -> str:
    values = [words.retention(topic) for topic in (pair.old, pair.new) if topic is not None]
    return words.both(values[0], values[-1]) if values else "?"


def _id(topic: TopicState | None) -> str:
    return "" if topic is None else cell(topic.id or "?")


def _of(partition: PartitionState | None, field: str) -> int | None:
    return None if partition is None else getattr(partition, field)


def _remark(pair: TopicPair, old: PartitionState | None, new: PartitionState | None) -> str:
    told = [
        f"{side}: {escaping.plain(each.error)}"
        for side, each in (("old", old), ("new", new))
        if each is not None and each.error
    ]
    if pair.old is not None and old is None:
        told.append("! not on old")
    if pair.new is not None and new is None:
        told.append("! not on new")
    told += [
        f"▲ open transaction on {side}"
        for side, each in (("old", old), ("new", new))
        if each is not None and each.lso is not None and each.hw is not None and each.lso < each.hw
    ]
    return "; ".join(told)


def _value(what: str, value: str | None) -> str:
    if value is None:
        return "not there" if what == "topic" else "?"
    if what.endswith(".ms"):
        return words.duration(value) if value != str(2**63 - 1) else "no limit"
    return cell(value)


def _state(group: object) -> str:
    error, state = getattr(group, "error", None), getattr(group, "state", None)
    if group is None:
        return "? not read"
    return f"? {escaping.plain(error)}" if error else cell(state or "?")


def _committed(group: object) -> int | None:
    return None if group is None or getattr(group, "error", None) else len(getattr(group, "offsets", ()))


def _offsets(group: object) -> dict[tuple[str, int], GroupOffset]:
    return {(each.topic, each.partition): each for each in getattr(group, "offsets", ())}


def _mirror_answers(view: View, group: str) -> dict[tuple[str, int], int]:
    if view.new is None:
        return {}
    return {
        (each.topic, each.partition): each.downstream
        for _, checkpoints in view.new.snapshot.mirror.checkpoints
        for each in checkpoints
        if each.group == group
    }


def _hint(old: GroupOffset | None, new: GroupOffset | None, mm2: int | None) -> str:
    if new is None:
        return "nothing committed on new"
    if mm2 is not None and new.offset > mm2:
        same = ", the old number as it is" if old is not None and old.offset == new.offset else ""
        return f"▲ {new.offset - mm2:,} past MirrorMaker's answer{same}: Compare proves what it costs (TARGET_AHEAD)"
    if old is not None and old.offset == new.offset:
        return "? the same number as on old: Compare proves whether it is the same record"
    return ""
