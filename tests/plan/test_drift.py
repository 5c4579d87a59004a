"""What counts as drift, kind by kind, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from offsetwise.model import Checkpoint, Cluster, GroupOffset, LogRange, Plan, Snapshot
from offsetwise.plan.drift import DriftKind, drift
from tests.plan.scene import COPY, ETL, checkpoint, comparison, drafted, grouped, pending, rows, snapshot
from tests.with_cases import with_cases

NEW_LOG = LogRange(log_start=0, lso=1100, hw=1100)


def now(
    *,
    old: Snapshot | None = None,
    new: Snapshot | None = None,
    found: Checkpoint | None = None,
    plan: Plan | None = None,
) -> list[tuple[DriftKind, str, str]]:
    made = drift(
        plan or drafted(None, COPY, ETL),
        old or snapshot(Cluster.OLD),
        new or snapshot(Cluster.NEW),
        found or checkpoint(),
    )
    return [(each.kind, each.reviewed, each.now) for each in made]


def new_with(**changes: Any) -> Snapshot:
    return snapshot(Cluster.NEW, rows({"new": replace(NEW_LOG, **changes)}))


def new_topic(change: Callable[[Any], Any]) -> Snapshot:
    standard = snapshot(Cluster.NEW)
    return replace(standard, topics=tuple(change(topic) for topic in standard.topics))


def group(**changes: Any) -> Snapshot:
    standard = snapshot(Cluster.NEW)
    return replace(standard, groups=(replace(standard.groups[0], **changes),))


def test_nothing_has_drifted_right_after_drafting() -> None:
    assert now() == []


def test_growth_of_log_ends_is_no_drift() -> None:
    grown = snapshot(Cluster.OLD, rows({"old": LogRange(log_start=100, lso=9000, hw=9000)}))

    assert now(old=grown, new=new_with(hw=5000, lso=5000)) == []


def test_retention_up_to_the_place_is_no_drift() -> None:
    assert now(new=new_with(log_start=950)) == []


@with_cases(
    ("changed", "expected"),
    [
        ({"old": snapshot(Cluster.OLD, cluster_id="x")}, (DriftKind.CLUSTER_REPLACED, "id-old", "x")),
        ({"new": snapshot(Cluster.NEW, cluster_id="x")}, (DriftKind.CLUSTER_REPLACED, "id-new", "x")),
        ({"new": snapshot(Cluster.NEW, topics=())}, (DriftKind.TOPIC_MISSING, "there", "not there")),
        (
            {"new": new_topic(lambda topic: replace(topic, id="x"))},
            (DriftKind.TOPIC_RECREATED, "new-orders", "x"),
        ),
        ({"new": snapshot(Cluster.NEW, rows({}, {}))}, (DriftKind.PARTITIONS_CHANGED, "1", "2")),
        (
            {"new": snapshot(Cluster.NEW, rows({"partition": 5}))},
            (DriftKind.PARTITION_MISSING, "there", "not there"),
        ),
        ({"new": new_with(log_start=951)}, (DriftKind.LOG_START_PASSED, "at most 950, the position", "951")),
        ({"new": new_with(hw=1000, lso=1000)}, (DriftKind.LOG_END_BELOW, "1100", "1000")),
        ({"found": checkpoint(engine="flink")}, (DriftKind.CHECKPOINT_REPLACED, "spark", "flink")),
        ({"found": checkpoint(job_id="x")}, (DriftKind.CHECKPOINT_REPLACED, "0d1c", "x")),
        ({"found": checkpoint(last_planned_batch=7)}, (DriftKind.CHECKPOINT_MOVED, "6", "7")),
        ({"found": checkpoint(last_committed_batch=7)}, (DriftKind.CHECKPOINT_MOVED, "6", "7")),
        (
            {"found": checkpoint(pins=(("offsets/6", "cd"),))},
            (DriftKind.CHECKPOINT_EDITED, "ab" * 32, "cd"),
        ),
        ({"found": checkpoint(pins=())}, (DriftKind.CHECKPOINT_EDITED, "ab" * 32, "none")),
        ({"new": group(state="Stable")}, (DriftKind.GROUP_ACTIVE, "Empty", "Stable")),
        (
            {"new": group(offsets=(GroupOffset(topic="orders", partition=0, offset=901),))},
            (DriftKind.GROUP_MOVED, "900", "901"),
        ),
        ({"new": group(offsets=())}, (DriftKind.GROUP_MOVED, "900", "none")),
        ({"new": group(error="not authorised")}, (DriftKind.UNREADABLE, "read", "not authorised")),
        ({"new": group(state=None)}, (DriftKind.UNREADABLE, "read", "none")),
        ({"new": new_with(hw=None)}, (DriftKind.UNREADABLE, "read", "the broker did not say")),
        (
            {"new": new_topic(lambda topic: replace(topic, error="timed out", partitions=topic.partitions))},
            (DriftKind.UNREADABLE, "read", "timed out"),
        ),
    ],
    ids=[
        "old-cluster",
        "new-cluster",
        "topic-gone",
        "topic-id",
        "partition-count",
        "partition-gone",
        "log-start",
        "log-cut",
        "engine",
        "query-id",
        "planned-batch",
        "committed-batch",
        "file-edited",
        "file-gone",
        "group-active",
        "group-moved",
        "commit-gone",
        "group-unreadable",
        "group-state-unknown",
        "log-unreadable",
        "topic-unreadable",
    ],
)
def test_each_kind_of_drift_is_told_once_as_reviewed_and_now(
    changed: dict[str, Any], expected: tuple[DriftKind, str, str]
) -> None:
    assert now(**changed) == [expected]


def test_a_log_that_begins_earlier_than_it_did_is_drift_on_both_clusters() -> None:
    plan = drafted(None, COPY, ETL)
    (one,) = plan.positions
    for new, old in ((20, 100), (0, 150), (20, 150), (0, 100)):
        reviewed = replace(one, new=replace(one.new, log_start=new), old=replace(one.old, log_start=old))

        assert now(plan=replace(plan, positions=(reviewed,))) == [
            *([(DriftKind.LOG_START_BELOW, "20", "0")] if new else []),
            *([(DriftKind.LOG_START_BELOW, "150", "100")] if old == 150 else []),
        ]


@with_cases("shorter", [1, 49, 1_000])
def test_an_old_log_that_is_shorter_than_it_was_is_drift(shorter: int) -> None:
    cut = snapshot(Cluster.OLD, rows({"old": LogRange(log_start=100, lso=1200 - shorter, hw=1200 - shorter)}))

    assert now(old=cut) == [(DriftKind.LOG_END_BELOW, "1200", str(1200 - shorter))]


def test_a_first_commit_where_there_was_none_is_drift() -> None:
    plan = drafted(None, COPY, ETL)
    (reviewed,) = plan.requirements.groups
    nothing_then = replace(plan.requirements, groups=(replace(reviewed, offsets=()),))

    assert now(plan=replace(plan, requirements=nothing_then)) == [(DriftKind.GROUP_MOVED, "none", "900")]


def test_the_end_of_the_log_may_be_the_place() -> None:
    plan = drafted(None, COPY, ETL)
    (position,) = plan.positions
    at_the_end = replace(plan, positions=(replace(position, new=replace(position.new, lso=950, hw=950)),))

    assert now(plan=at_the_end, new=new_with(lso=950, hw=950)) == []
    assert now(plan=at_the_end, new=new_with(lso=949, hw=949)) == [(DriftKind.LOG_END_BELOW, "950", "949")]


def test_the_end_of_a_pending_batch_must_be_in_the_log_too() -> None:
    plan = drafted(comparison(*rows(pending(955, equal=True))), COPY)
    (position,) = plan.positions
    read_up_to = replace(plan, positions=(replace(position, new=replace(position.new, lso=955, hw=955)),))
    beyond = replace(position, new=replace(position.new, lso=950, hw=950))

    assert now(plan=read_up_to, new=new_with(lso=955, hw=955)) == []
    assert now(plan=replace(plan, positions=(beyond,)), new=new_with(lso=954, hw=954)) == [
        (DriftKind.LOG_END_BELOW, "at least 955, the position", "954")
    ]


def test_a_commit_of_a_partition_that_is_not_planned_is_drift_too() -> None:
    plan = drafted(None, COPY, ETL)
    (reviewed,) = plan.requirements.groups
    more = replace(plan.requirements, groups=(replace(reviewed, offsets=(*reviewed.offsets, ("orders", 7, 5))),))

    assert now(plan=replace(plan, requirements=more)) == [(DriftKind.GROUP_MOVED, "5", "none")]


def test_a_group_that_was_translated_is_held_to_its_old_commits() -> None:
    plan = drafted(grouped(), ETL)
    standard = snapshot(Cluster.OLD)
    moved = replace(
        standard,
        groups=(replace(standard.groups[0], offsets=(GroupOffset(topic="orders", partition=0, offset=1051),)),),
    )

    assert now(plan=plan, old=moved) == [(DriftKind.GROUP_MOVED, "1050", "1051")]


def test_a_checkpoint_that_cannot_be_read_may_have_changed() -> None:
    made = drift(drafted(), snapshot(Cluster.OLD), snapshot(Cluster.NEW), None)

    assert [each.kind for each in made] == [DriftKind.UNREADABLE]


def test_a_drift_names_its_partition() -> None:
    (found,) = drift(drafted(), snapshot(Cluster.OLD), new_with(log_start=951), checkpoint())

    assert (found.topic, found.partition) == ("orders", 0)
    assert found.told == "orders-0, log start: reviewed at most 950, the position, now 951."
