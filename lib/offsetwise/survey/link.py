"""Detect how records come to the new cluster, from MirrorMaker's topics or from a few records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from offsetwise.client_properties import GivenCluster
from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterError
from offsetwise.model import Cluster, Link, Snapshot, TopicPartition
from offsetwise.position import offset_of
from offsetwise.streams.reader import timestamps_at
from offsetwise.survey.naming import Naming
from offsetwise.survey.results import SurveyedLink, Trouble
from offsetwise.translation.preserved import ENOUGH, probe_spans
from offsetwise.translation.search import Span
from offsetwise.wording import many

PROBED: Final = 16
"""How many partitions are probed if there is no sign of MirrorMaker."""


def link_of(
    given: Mapping[Cluster, GivenCluster],
    snapshots: Mapping[Cluster, Snapshot | None],
    names: Naming,
    problems: list[Trouble],
) -> SurveyedLink:
    """Return how records come to the new cluster.

    MirrorMaker has topics of its own. If there are none, the times of a few records are read: a link that keeps offsets
    has the same records at the same offsets. Failures are then added to `problems`.
    """
    old, new = snapshots[Cluster.OLD], snapshots[Cluster.NEW]
    if old is None or new is None:
        return SurveyedLink(link=None, evidence="one of the clusters could not be read")
    mirrors = [
        f"{topic.name} on the {side} cluster ({many(topic.records, 'record')})"
        for side, snapshot in ((Cluster.OLD, old), (Cluster.NEW, new))
        for topic in snapshot.mirror.topics
        if topic.alias
    ]
    if mirrors:
        return SurveyedLink(link=Link.MIRRORMAKER, evidence=f"MirrorMaker's own topics: {'; '.join(mirrors)}")
    spans = _spans(old, new, dict(names.pairs))
    if not spans:
        return SurveyedLink(link=None, evidence="no topic has records at the same offsets on both clusters to look at")
    probes = {ats: probe_spans(both.start, both, both) for ats, both in spans.items()}
    samples = [(at, there, span.start) for (at, there), probed in probes.items() for span in probed]
    configs = {side: config_of(side, given[side]) for side in Cluster}
    try:
        old_times = timestamps_at(configs[Cluster.OLD], {(at, offset) for at, _, offset in samples})
        new_times = timestamps_at(configs[Cluster.NEW], {(there, offset) for _, there, offset in samples})
    except ClusterError as error:
        problems.append(Trouble(problem=error.problem, fix=error.fix))
        return SurveyedLink(link=None, evidence="records could not be read")
    times = [(old_times[at, offset], new_times[there, offset]) for at, there, offset in samples]
    return _judged(times, len(spans), same_ids=_with_one_id(old, new, spans))


def config_of(side: Cluster, given: GivenCluster) -> ClusterConfig:
    stated = {"name": str(side), "properties": given.properties}
    return ClusterConfig.model_validate(stated, context={"base": given.folder})


def _judged(times: Sequence[tuple[int | None, int | None]], partitions: int, *, same_ids: int) -> SurveyedLink:
    """Evaluate pairs of times of the records at the same offset of both logs; None if a time is unknown.

    Args:
        times: The pairs.
        partitions: The number of their partitions.
        same_ids: How many of these belong to a topic with one id on both clusters, as a copy of its log has.
    """
    known = Counter(old == new for old, new in times if old is not None and new is not None)
    # Records that were all written at once would agree anywhere.
    distinct = len({old for old, new in times if old is not None and old == new})
    where = f"{many(sum(known.values()), 'offset')} of {many(partitions, 'partition')}"
    if known[False]:
        return SurveyedLink(
            link=Link.OTHER,
            evidence=f"no topic of MirrorMaker's, and other records at {known[False]:,} of {where}",
        )
    one_id = f"{many(same_ids, 'partition')} of a topic with one id on both clusters" if same_ids else ""
    if distinct >= ENOUGH or (same_ids and distinct):
        observed = " and ".join(filter(None, (f"records with the same times at {where}", one_id)))
        return SurveyedLink(link=Link.PRESERVING, evidence=f"{observed}; `compare` proves it on the records")
    return SurveyedLink(link=None, evidence=f"no topic of MirrorMaker's, and too few records to tell at {where}")


def _with_one_id(old: Snapshot, new: Snapshot, pairs: Iterable[tuple[TopicPartition, TopicPartition]]) -> int:
    olds, news = ({topic.name: topic.id for topic in snapshot.topics} for snapshot in (old, new))
    return sum(olds[at.topic] is not None and olds[at.topic] == news[there.topic] for at, there in pairs)


def _spans(old: Snapshot, new: Snapshot, pairs: Mapping[str, str]) -> dict[tuple[TopicPartition, TopicPartition], Span]:
    """Return the ranges of both logs of some partitions, one partition of each topic first."""
    there = new.partitions()
    results: dict[tuple[TopicPartition, TopicPartition], Span] = {}
    for at, state in sorted(old.partitions().items(), key=lambda entry: (entry[0].partition, entry[0].topic)):
        twin = TopicPartition(pairs.get(at.topic, ""), at.partition)
        if twin not in there or len(results) == PROBED:
            continue
        ends = (state.log_start, state.hw, there[twin].log_start, there[twin].hw)
        known = [offset_of(end) for end in ends if end is not None]
        if len(known) == len(ends) and (both := Span(start=max(known[::2]), end=min(known[1::2]))).end > both.start:
            results[at, twin] = both
    return results
