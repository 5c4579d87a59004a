"""The start gate: what must be true before the job starts, and what nobody knows is said as unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.model import (
    Ahead,
    Cluster,
    CutoverRequirement,
    Exactness,
    GateCheck,
    Link,
    LogRange,
    Method,
    Neighbour,
    Outcome,
    PartitionComparison,
    Side,
    Snapshot,
    TopicPartition,
)
from offsetwise.plan.gate import KEPT, MIRRORED, RETENTION, SKEW, TRANSACTIONS, start_gate
from tests.findings.cases import DAY_MS, HOUR_MS, NOW_MS, ROW
from tests.plan.scene import comparison, drafted, migration, observed, rows, snapshot
from tests.with_cases import with_cases

P, F, U = Outcome.PASSED, Outcome.FAILED, Outcome.UNKNOWN
NOT_EXAMINED = Ahead(examined=False)
BEHIND = Ahead(examined=True, missing=5, duplicated=0, foreign=0)


def gate(
    compared: tuple[PartitionComparison, ...], *, link: Link = Link.MIRRORMAKER, **more: Any
) -> dict[str, GateCheck]:
    new: Snapshot = more.pop("new", None) or snapshot(Cluster.NEW, compared)
    old: Snapshot = snapshot(Cluster.OLD, compared)
    made = start_gate(comparison(*compared, read_from=(old, new)), migration(link=link), NOW_MS, **more)
    return {check.name: check for check in made}


@with_cases(
    ("changes", "outcome"),
    [
        ({}, P),
        ({"ahead": BEHIND}, F),
        ({"ahead": NOT_EXAMINED}, U),
        ({"ahead": NOT_EXAMINED, "lag_old": 0}, P),
        ({"ahead": NOT_EXAMINED, "old": LogRange(log_start=5, lso=5, hw=5)}, P),
        ({"ahead": NOT_EXAMINED, "new": LogRange(log_start=0, lso=0, hw=0)}, F),
        ({"ahead": NOT_EXAMINED, "old": LogRange(log_start=None, lso=None, hw=None)}, U),
        ({"ahead": NOT_EXAMINED, "exactness": Exactness.PRESERVED, "new": LogRange(log_start=0, lso=1200, hw=1200)}, P),
        ({"ahead": NOT_EXAMINED, "exactness": Exactness.PRESERVED}, F),
    ],
    ids=[
        "reconciled",
        "missing",
        "not-examined",
        "caught-up",
        "empty-old-log",
        "nothing-copied",
        "unread",
        "preserved",
        "preserved-and-short",
    ],
)
def test_every_partitions_last_record_must_be_on_the_new_cluster(changes: dict[str, Any], outcome: Outcome) -> None:
    assert gate(rows(changes))[MIRRORED].outcome is outcome


@with_cases(
    ("link", "method", "states", "outcome"),
    [
        (Link.PRESERVING, Method.PRESERVED, (), U),
        (Link.PRESERVING, Method.PRESERVED, ("frozen",), U),
        (Link.PRESERVING, Method.PRESERVED, ("copied",), P),
        (Link.PRESERVING, Method.PRESERVED, ("frozen", "copied"), P),
        (Link.PRESERVING, Method.CONTENT, (), None),
        (Link.MIRRORMAKER, Method.PRESERVED, (), None),
    ],
)
def test_kept_offsets_are_known_at_the_end_of_the_logs_alone(
    link: Link, method: Method, states: tuple[str, ...], outcome: Outcome | None
) -> None:
    required = CutoverRequirement(states=states, still_for_ms=60_000) if states else None
    check = gate(rows({"method": method}), link=link, required=required).get(KEPT)
    assert (None if check is None else check.outcome) is outcome


def test_one_partition_that_is_behind_fails_the_gate_and_is_named() -> None:
    check = gate(rows({}, {"ahead": BEHIND}))[MIRRORED]

    assert check.outcome is F
    assert "orders-1: 5 records ahead of its position have no copy" in check.told


@with_cases("side", ["old", "new"])
def test_an_open_transaction_on_either_cluster_fails_the_gate(side: str) -> None:
    check = gate(rows({side: LogRange(log_start=0, lso=1000, hw=1100)}))[TRANSACTIONS]

    assert check.outcome is F
    assert f"orders-0 on the {side} cluster: last stable offset 1,000, end 1,100" in check.told


def test_a_last_stable_offset_that_was_not_read_is_unknown() -> None:
    assert gate(rows({"new": LogRange(log_start=0, lso=None, hw=1100)}))[TRANSACTIONS].outcome is U


class TestSkew:
    JOB = JobTraits(stateful=True, watermark_ms=10 * 60_000)
    PAIR = rows({}, {"ahead": BEHIND})

    @staticmethod
    def newest(behind_ms: int | None) -> tuple[tuple[TopicPartition, int | None], ...]:
        return (
            (TopicPartition("orders", 0), NOW_MS),
            (TopicPartition("orders", 1), None if behind_ms is None else NOW_MS - behind_ms),
        )

    @with_cases(("behind_ms", "outcome"), [(25 * 60_000, F), (10 * 60_000, P), (10 * 60_000 + 1, F), (None, U)])
    def test_a_partition_further_behind_than_the_watermark_fails(self, behind_ms: int | None, outcome: Outcome) -> None:
        assert gate(self.PAIR, job=self.JOB, newest=self.newest(behind_ms))[SKEW].outcome is outcome

    def test_it_blocks_the_plan_as_a_finding(self) -> None:
        with pytest.raises(PlanError, match="MIRROR_SKEW_EXCEEDS_WATERMARK: orders-1 is mirrored up to"):
            drafted(comparison(*self.PAIR), job=self.JOB, newest=self.newest(25 * 60_000))

    def test_partitions_that_are_mirrored_to_their_ends_have_no_skew(self) -> None:
        assert gate(rows({}, {}), job=self.JOB, newest=self.newest(25 * 60_000))[SKEW].outcome is P

    @with_cases(
        ("job", "outcome"),
        [(JobTraits(stateful=False), P), (JobTraits(stateful=True), U), (JobTraits(), U)],
        ids=["no-state", "watermark-not-stated", "nothing-stated"],
    )
    def test_without_a_watermark_only_a_job_without_state_passes(self, job: JobTraits, outcome: Outcome) -> None:
        assert gate(self.PAIR, job=job, newest=self.newest(0))[SKEW].outcome is outcome


class TestRetention:
    NEXT = Neighbour(old_offset=1050, new_offset=950, timestamp_ms=NOW_MS - DAY_MS, identity="a", side=Side.UNREAD)
    AHEAD = rows({"evidence": replace(ROW.evidence, neighbours=(NEXT,))})

    def judged(
        self,
        retention_ms: str,
        *,
        ahead: tuple[PartitionComparison, ...] = AHEAD,
        cutover_ms: int | None = None,
        **config: str,
    ) -> Outcome:
        standard = snapshot(Cluster.NEW, ahead)
        settings = {"cleanup.policy": "delete", "retention.ms": retention_ms} | {
            key.replace("_", "."): value for key, value in config.items()
        }
        topics = tuple(replace(topic, config=tuple(settings.items())) for topic in standard.topics)
        return gate(ahead, new=replace(standard, topics=topics), cutover_ms=cutover_ms)[RETENTION].outcome

    def test_the_next_record_must_live_longer_than_a_day(self) -> None:
        assert self.judged(str(2 * DAY_MS)) is F
        assert self.judged(str(2 * DAY_MS + 1)) is P
        assert self.judged("-1") is P
        assert self.judged("1", cleanup_policy="compact") is P

    def test_or_longer_than_until_the_cutover_that_was_named(self) -> None:
        assert self.judged(str(2 * DAY_MS), cutover_ms=NOW_MS + 23 * HOUR_MS) is P
        assert self.judged(str(4 * DAY_MS), cutover_ms=NOW_MS + 3 * DAY_MS) is F

    def test_the_next_record_is_that_at_the_position_whoever_wrote_it(self) -> None:
        by_others = replace(self.NEXT, old_offset=None, timestamp_ms=NOW_MS - 9 * DAY_MS, side=Side.FOREIGN)
        behind = replace(self.NEXT, new_offset=951)
        ahead = rows({"evidence": replace(ROW.evidence, neighbours=(behind, by_others))})
        assert self.judged(str(9 * DAY_MS), ahead=ahead) is F

        after_a_gap = rows({"evidence": replace(ROW.evidence, neighbours=(behind,))})
        assert self.judged(str(9 * DAY_MS), ahead=after_a_gap) is P

        lower = rows({"evidence": replace(ROW.evidence, neighbours=(behind,)), "exactness": Exactness.BOUNDED})
        assert self.judged(str(9 * DAY_MS), ahead=lower) is U, "records below the ones that are shown may be older"

    def test_a_log_whose_size_is_limited_may_lose_any_record(self) -> None:
        for retention_ms in (str(9 * DAY_MS), "-1"):
            assert self.judged(retention_ms, retention_bytes="1073741824") is U
            assert self.judged(retention_ms, retention_bytes="0") is U
            assert self.judged(retention_ms, retention_bytes="-1") is P
            assert self.judged(retention_ms, retention_bytes="1", cleanup_policy="compact") is P
        assert self.judged(str(DAY_MS), retention_bytes="1073741824") is F, "age takes it before"

    def test_times_that_are_not_known_are_said_so(self) -> None:
        assert self.judged(str(9 * DAY_MS), message_timestamp_type="LogAppendTime") is U
        assert gate(rows({}), new=replace(snapshot(Cluster.NEW), topics=()))[RETENTION].outcome is U

    def test_a_record_behind_the_next_one_does_not_tell_of_it(self) -> None:
        neighbours = (replace(self.NEXT, timestamp_ms=None), replace(self.NEXT, new_offset=951))
        ahead = rows({"evidence": replace(ROW.evidence, neighbours=neighbours)})

        assert self.judged(str(2 * DAY_MS), ahead=ahead) is U


def test_the_sample_passes_every_check() -> None:
    read = observed("orders")
    made = start_gate(read, migration(), NOW_MS)

    assert {check.name: check.outcome for check in made} == dict.fromkeys((MIRRORED, TRANSACTIONS, SKEW, RETENTION), P)
