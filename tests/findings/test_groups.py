"""What a start of a Kafka Streams application would lose, of generated clusters: never less than it is, nor guessed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.findings import judge_migration
from offsetwise.findings.groups import share_lag, unread_records
from offsetwise.model import (
    Application,
    ApplicationEvidence,
    Cluster,
    GroupOffset,
    GroupState,
    PartitionState,
    TopicState,
)
from tests.findings.cases import migration, snapshot

CHANGELOG, REPARTITION = "app-s-changelog", "app-k-repartition"
_Log = tuple[int, int] | None
"""Start and end of a log; None where it was not read."""
_LOG = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))
_LOGS = st.lists(_LOG, min_size=1, max_size=3)


def _topic(name: str, logs: list[_Log]) -> TopicState:
    parts = []
    for number, log in enumerate(logs):
        start, end = log or (None, None)
        parts.append(PartitionState(partition=number, leader=1, log_start=start, hw=end, lso=end))
    return TopicState(name=name, partitions=tuple(parts))


def _group(committed: dict[int, int]) -> GroupState:
    application = Application(
        evidence=ApplicationEvidence.REPARTITION, changelogs=(CHANGELOG,), repartitions=(REPARTITION,)
    )
    offsets = tuple(
        GroupOffset(topic=REPARTITION, partition=number, offset=offset) for number, offset in committed.items()
    )
    return GroupState(name="app", offsets=offsets, application=application)


_NEW = st.none() | _LOGS
"""The logs of a topic on the new cluster; None where it has no such topic."""
_COMMITTED = st.dictionaries(st.integers(0, 2), st.integers(0, 20), max_size=3)


@given(changelog=_LOGS, repartition=_LOGS, committed=_COMMITTED, new_changelog=_NEW, new_repartition=_NEW)
def test_the_judgement_names_what_the_new_cluster_lacks_and_nothing_else(
    changelog: list[_Log],
    repartition: list[_Log],
    committed: dict[int, int],
    new_changelog: list[_Log] | None,
    new_repartition: list[_Log] | None,
) -> None:
    old = (_topic(CHANGELOG, changelog), _topic(REPARTITION, repartition))
    pairs = ((CHANGELOG, new_changelog), (REPARTITION, new_repartition))
    new = tuple(_topic(name, logs) for name, logs in pairs if logs is not None)
    clusters = {"old": snapshot(Cluster.OLD, topics=old), "new": snapshot(Cluster.NEW, topics=new)}

    findings = judge_migration(migration(checkpoint=None, old_group=_group(committed), rows=(), **clusters))

    codes = {finding.code for finding in findings}
    assert "STREAMS_NOT_MOVED" in codes
    empty = all(log is not None and log[0] == log[1] for log in changelog)
    lacks = new_changelog is None or len(new_changelog) < len(changelog)
    lacks = lacks or all(log is not None and log[0] == log[1] for log in new_changelog or ())
    assert ("STREAMS_STATE_NOT_MIRRORED" in codes) is (lacks and not empty)
    unread = sum(
        max(0, log[1] - max(log[0], committed.get(number, log[0])))
        for number, log in enumerate(repartition)
        if log is not None
    )
    assert unread_records(_group(committed), old[1]) == unread
    assert ("STREAMS_REPARTITION_UNREAD" in codes) is (new_repartition is None and unread > 0)


@given(logs=_LOGS, starts=st.dictionaries(st.integers(0, 4), st.integers(0, 30), min_size=1))
def test_the_lag_of_a_share_group_is_no_less_than_what_is_left_and_unknown_is_not_0(
    logs: list[_Log], starts: dict[int, int]
) -> None:
    offsets = tuple(GroupOffset(topic="t", partition=number, offset=offset) for number, offset in starts.items())
    group = GroupState(name="sg", type="Share", start_offsets=offsets)

    lag, unread = share_lag(group, replace(snapshot(Cluster.OLD), topics=(_topic("t", logs),)))

    ends = {number: log[1] for number, log in enumerate(logs) if log is not None}
    assert unread == len(starts.keys() - ends.keys())
    assert lag == sum(max(0, ends[number] - offset) for number, offset in starts.items() if number in ends)
