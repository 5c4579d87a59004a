"""What drafting promises: only proven or decided positions, and every reason where there may be no plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from offsetwise import workflow
from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.model import (
    Cluster,
    Comparison,
    Exactness,
    GroupState,
    IsolationLevel,
    LogRange,
    Neighbour,
    Side,
    Start,
    Target,
    TopicPartition,
)
from offsetwise.plan.request import DraftRequest, StartChoice
from tests import subjects
from tests.findings.cases import ROW
from tests.plan.scene import (
    AT,
    COPY,
    ETL,
    EVERY,
    FIRST,
    IN_PLACE,
    SEEDED,
    STARTING,
    batch,
    blocking,
    checkpoint,
    comparison,
    drafted,
    grouped,
    migration,
    observed,
    override,
    pending,
    rows,
    snapshot,
)
from tests.with_cases import with_cases

UNPROVEN = {"exactness": Exactness.UNKNOWN, "new_offset": None}
ADDED: dict[str, Any] = {"old_offset": None, "restart": (), "exactness": Exactness.CLAIMED, "new_offset": 0}


def refused(code: str, *arguments: Any, **more: Any) -> PlanError:
    with pytest.raises(PlanError) as caught:
        drafted(*arguments, **more)
    assert f"{code}:" in caught.value.problem
    assert caught.value.problem.endswith("Nothing was written.")
    assert caught.value.fix
    return caught.value


class TestPositions:
    def test_a_proven_place_is_planned_as_it_was_translated(self) -> None:
        position = drafted().positions[0]

        assert (position.old_offset, position.new_offset, position.start) == (1050, 950, Start.TRANSLATED)
        assert [(point.old, point.new) for point in position.restart] == [(1050, 950)]
        assert (position.exactness, position.replay, position.skip) == (Exactness.EXACT, 0, 0)

    def test_the_sample_is_planned_where_its_comparison_places_it(self) -> None:
        read = observed("payments")
        made = workflow.draft(
            workflow.sample(),
            subjects.checkpoint("payments"),
            DraftRequest(targets=(COPY,), author="ada"),
            comparison=read,
            drafted_at=AT,
        )

        places = {row.topic_partition: row.new_offset for row in read.partitions}
        assert {one.topic_partition: one.new_offset for one in made.positions} == places
        assert made.requirements.new.cluster_id == read.snapshots[1].cluster_id
        assert made.requirements.checkpoint is not None
        assert made.requirements.checkpoint.files == read.checkpoint.pins  # type: ignore[union-attr]

    def test_the_proof_names_the_nearest_records_that_stand_on_both_logs(self) -> None:
        def near(old: int | None, new: int | None, side: Side) -> Neighbour:
            return Neighbour(old_offset=old, new_offset=new, timestamp_ms=1, identity=f"{old}/{new}", side=side)

        found = (
            near(1047, 947, Side.READ),
            near(1048, 948, Side.READ),
            near(1049, None, Side.READ),
            near(None, 950, Side.FOREIGN),
            near(1051, 951, Side.UNREAD),
            near(1052, 952, Side.UNREAD),
        )
        evidence = replace(ROW.evidence, neighbours=found, salt="5a", identity="timestamp, key, value and headers")

        proof = drafted(comparison(*rows({"evidence": evidence}))).positions[0].proof

        assert proof is not None
        assert proof.before == found[1]
        assert proof.after == found[4]
        assert proof.salt == "5a"

    def test_a_partition_that_the_checkpoint_lacks_gets_an_explicit_position(self) -> None:
        made = drafted(comparison(*rows({}, {**ADDED, "new": LogRange(log_start=7, lso=20, hw=20), "new_offset": 7})))

        position = made.positions[1]
        assert (position.old_offset, position.new_offset, position.start) == (None, 7, Start.EARLIEST)
        assert (position.restart, position.replay, position.skip) == ((), 0, None)
        assert made.totals.uncounted == 1

    @with_cases("exactness", [Exactness.CLAIMED, Exactness.UNKNOWN])
    def test_what_nobody_proved_blocks_until_a_person_decides(self, exactness: Exactness) -> None:
        made = comparison(*rows({"exactness": exactness}), findings=(blocking("UNTRANSLATED", partition=0),))
        refused("UNTRANSLATED", made)

        position = drafted(made, overrides=((FIRST, override(940)),)).positions[0]

        assert (position.new_offset, position.start) == (940, Start.SPECIFIC)
        assert position.override == override(940)
        assert (position.replay, position.skip) == (None, None)

    def test_an_override_says_what_it_costs_against_the_proven_place(self) -> None:
        below = drafted(overrides=((FIRST, override(900)),)).positions[0]
        above = drafted(overrides=((FIRST, override(960)),)).positions[0]
        same = drafted(overrides=((FIRST, override(950)),)).positions[0]

        assert (below.replay, below.skip, below.exactness) == (50, 0, Exactness.UNKNOWN)
        assert (above.replay, above.skip, above.exactness) == (0, 10, Exactness.UNKNOWN)
        assert (same.replay, same.skip, same.exactness) == (0, 0, Exactness.EXACT)

    @with_cases(("offset", "code"), [(-1, "BELOW_LOG_START"), (1101, "NOT_YET_MIRRORED")])
    def test_no_decision_leaves_the_new_log(self, offset: int, code: str) -> None:
        refused(code, overrides=((FIRST, override(offset)),))

    def test_a_read_committed_job_ends_at_the_last_stable_offset(self) -> None:
        made = comparison(*rows({"new": LogRange(log_start=0, lso=940, hw=1100)}))

        refused("NOT_YET_MIRRORED", made, with_migration=migration(isolation_level=IsolationLevel.READ_COMMITTED))

    def test_an_override_needs_a_reason_a_known_partition_and_to_be_the_only_one(self) -> None:
        stray = TopicPartition("orders", 9)
        for decided in (
            ((FIRST, override(940, " ")),),
            ((stray, override(940)),),
            ((FIRST, override(940)), (FIRST, override(941))),
        ):
            with pytest.raises(PlanError):
                drafted(overrides=decided)

    def test_a_position_without_any_place_never_reaches_a_plan(self) -> None:
        refused("UNTRANSLATED", comparison(*rows({}, UNPROVEN)))


class TestStarts:
    @with_cases(
        ("choice", "expected"),
        [
            ({"start": Start.EARLIEST}, 0),
            ({"start": Start.LATEST}, 1100),
            ({"start": Start.TIMESTAMP, "timestamp_ms": 1, "looked_up": ((0, 77),)}, 77),
            ({"start": Start.GROUP, "group": "etl"}, 900),
        ],
        ids=["earliest", "latest", "timestamp", "group"],
    )
    def test_a_person_may_choose_where_a_topic_starts(self, choice: dict[str, Any], expected: int) -> None:
        position = drafted(starts=(StartChoice(topic="orders", reason="Stated.", by="ada", **choice),)).positions[0]

        assert (position.new_offset, position.start) == (expected, choice["start"])
        assert position.override is not None
        assert position.override.reason == "Stated."

    @with_cases(
        "choice",
        [
            {"start": Start.TIMESTAMP, "timestamp_ms": 1, "looked_up": ((0, None),)},
            {"start": Start.GROUP, "group": "nobody"},
            {"start": Start.SPECIFIC},
        ],
        ids=["no-record-that-young", "nothing-committed", "no-offset"],
    )
    def test_a_choice_without_an_answer_is_refused_and_never_becomes_the_end(self, choice: dict[str, Any]) -> None:
        refused("UNTRANSLATED", starts=(StartChoice(topic="orders", reason="Stated.", by="ada", **choice),))


class TestTraits:
    @with_cases("changes", [{"replay": 3}, {"exactness": Exactness.BOUNDED, "replay": None}])
    @with_cases("stated", [False, None])
    def test_replay_blocks_a_job_that_is_not_stated_to_tolerate_it(
        self, changes: dict[str, Any], stated: bool | None
    ) -> None:
        made = comparison(*rows(changes))
        refused("REPLAY_NOT_TOLERATED", made, job=JobTraits(sink="kafka", tolerates_replay=stated))

        assert drafted(made, job=JobTraits(sink="kafka", tolerates_replay=True)).positions[0].new_offset == 950

    @with_cases(("replay", "count"), [(None, "an unknown number of records"), (3, "3 records")], ids=str)
    def test_a_position_within_bounds_says_how_many_records_it_reads_twice(
        self, replay: int | None, count: str
    ) -> None:
        made = comparison(*rows({"exactness": Exactness.BOUNDED, "replay": replay}))
        error = refused("REPLAY_NOT_TOLERATED", made, job=JobTraits(sink="kafka"))

        assert f"950 is the safe end of its bounds and may read up to {count} twice" in error.problem

    def test_a_skip_blocks_any_job(self) -> None:
        refused("SKIP", comparison(*rows({"skip": 1})), job=JobTraits(tolerates_replay=True))

    def test_records_of_other_writers_below_the_place_block_until_a_person_decides(self) -> None:
        made = comparison(*rows({"foreign_below": 2}), findings=(blocking("NATIVE_BELOW", partition=0),))
        refused("NATIVE_BELOW", made)

        assert drafted(made, overrides=((FIRST, override(950)),)).positions[0].override is not None

    @with_cases("target", [STARTING, SEEDED])
    @with_cases("sink", ["delta", "file", "foreachBatch", "iceberg", "hudi", None])
    def test_a_fresh_checkpoint_is_refused_for_a_sink_that_knows_batch_ids(
        self, target: Target, sink: str | None
    ) -> None:
        refused("SINK_BATCH_IDS", None, target, job=JobTraits(sink=sink))

        made = drafted(None, target, job=JobTraits(sink=sink), sink_rewound=True)
        assert made.job.sink_rewound is True
        assert "the state" in made.gives_up

    def test_traits_are_found_by_the_checkpoints_name_or_its_path(self) -> None:
        named = drafted(comparison(checkpoint=checkpoint(uri="elsewhere")), subject=subjects.checkpoint("orders"))

        assert named.job.sink == "kafka"
        assert drafted().job.sink == "kafka"
        assert drafted(comparison(checkpoint=checkpoint(uri="elsewhere"))).job.sink is None


class TestPendingBatch:
    def test_both_ends_are_planned_when_the_records_are_the_same(self) -> None:
        made = comparison(*rows(pending(1000, equal=True)), checkpoint=checkpoint(last_planned_batch=7, reruns_batch=7))

        points = drafted(made).positions[0].restart

        assert [(point.batch, point.old, point.new) for point in points] == [(6, 1050, 950), (7, 1100, 1000)]

    def test_both_ends_are_proven_by_the_records_on_both_sides(self) -> None:
        found = tuple(
            Neighbour(old_offset=old, new_offset=old - 100, timestamp_ms=1, identity=f"{old}", side=side)
            for old, side in (
                *((1048, Side.READ), (1049, Side.READ), (1098, Side.READ), (1099, Side.READ)),
                *((1100, Side.UNREAD), (1101, Side.UNREAD)),
            )
        )
        evidence = replace(ROW.evidence, neighbours=found, salt="5a", identity="key and value")
        made = comparison(*rows({**pending(1000, equal=True), "end_evidence": evidence}))

        end = drafted(made).positions[0].end_proof
        assert end is not None
        assert (end.before, end.after, end.salt) == (found[3], found[4], "5a")
        assert drafted(made, STARTING).positions[0].end_proof is None, "only one end is written"

    @with_cases(("end", "equal"), [(1000, None), (1000, False), (None, None), (940, True)], ids=str)
    @with_cases("target", [COPY, IN_PLACE])
    def test_anything_else_about_it_blocks_an_edit(self, end: int | None, equal: bool | None, target: Target) -> None:
        error = refused("PENDING_BATCH_DIFFERS", comparison(*rows(pending(end, equal=equal))), target)

        assert "commit on the old cluster" in error.fix

    def test_its_start_cannot_be_decided_otherwise(self) -> None:
        made = comparison(*rows(pending(1000, equal=True)))

        refused("PENDING_BATCH_DIFFERS", made, overrides=((FIRST, override(940)),))

    @with_cases("target", [STARTING, SEEDED, ETL])
    def test_targets_without_batches_take_the_committed_end_only(self, target: Target) -> None:
        made = drafted(comparison(*rows(pending(None, equal=None))), target)

        assert [point.new for point in made.positions[0].restart] == [950]

    def test_the_sample_waits_for_a_statement_about_its_pending_batch(self) -> None:
        read = observed("orders")
        rows_known = tuple(replace(row, pending_equal=True) for row in read.partitions)
        known = replace(read, partitions=rows_known)

        def of(seen: Comparison) -> Any:
            request = DraftRequest(targets=(COPY,), author="ada")
            return workflow.draft(
                workflow.sample(), subjects.checkpoint("orders"), request, comparison=seen, drafted_at=AT
            )

        assert [len(one.restart) for one in of(known).positions] == [2] * 8
        unknown = replace(read, partitions=tuple(replace(row, pending_equal=None) for row in rows_known))
        with pytest.raises(PlanError, match="PENDING_BATCH_DIFFERS"):
            of(unknown)


class TestPollutedCheckpoint:
    POLLUTED = blocking("CHECKPOINT_POLLUTED")

    def test_the_plan_names_the_batch_that_is_left_out_and_goes_on_from_the_committed_one(self) -> None:
        made = drafted(
            comparison(
                *rows(pending(None, equal=None)),
                checkpoint=checkpoint(last_planned_batch=7, reruns_batch=7),
                findings=(self.POLLUTED, blocking("UNTRANSLATED", partition=0)),
            )
        )

        assert made.dropped_batch == 7
        assert [(point.batch, point.new) for point in made.positions[0].restart] == [(6, 950)]
        assert any("batch 7" in each for each in made.gives_up)
        assert self.POLLUTED in made.findings

    def test_without_a_batch_to_leave_out_it_blocks(self) -> None:
        refused("CHECKPOINT_POLLUTED", comparison(findings=(self.POLLUTED,)))


class TestRewind:
    BACK = rows(
        {"old_offset": 1010, "new_offset": 910, "restart": (replace(ROW.restart[0], batch=4, old=1010, new=910),)}
    )

    def test_it_counts_what_is_read_again(self) -> None:
        made = drafted(comparison(*self.BACK), rewind_to=4, job=JobTraits(sink="kafka", tolerates_replay=True))

        assert (made.rewind_to, made.positions[0].new_offset) == (4, 910)
        assert made.totals.replay == 40
        assert made.prediction.effect == "unknown"

    @with_cases("sink", ["delta", None])
    def test_a_sink_that_knows_batch_ids_must_be_stated_to_be_taken_back_too(self, sink: str | None) -> None:
        job = JobTraits(sink=sink, tolerates_replay=True)
        refused("SINK_BATCH_IDS", comparison(*self.BACK), rewind_to=4, job=job)

        assert drafted(comparison(*self.BACK), rewind_to=4, job=job, sink_rewound=True).rewind_to == 4

    def test_a_job_that_does_not_tolerate_replay_needs_its_sink_taken_back(self) -> None:
        refused("REPLAY_NOT_TOLERATED", comparison(*self.BACK), rewind_to=4)

        assert drafted(comparison(*self.BACK), rewind_to=4, sink_rewound=True).totals.replay == 40

    def test_positions_of_another_batch_are_refused(self) -> None:
        with pytest.raises(PlanError, match="positions after batch 5"):
            drafted(rewind_to=5)


class TestRequirements:
    def test_they_name_clusters_topics_and_the_checkpoint(self) -> None:
        wanted = drafted().requirements

        assert (wanted.old.cluster_id, wanted.new.cluster_id) == ("id-old", "id-new")
        assert [(topic.name, topic.id, topic.partitions) for topic in wanted.new.topics] == [
            ("orders", "new-orders", 1)
        ]
        assert wanted.checkpoint is not None
        assert wanted.checkpoint.last_committed_batch == 6

    def test_a_group_target_keeps_what_was_committed_before(self) -> None:
        wanted = drafted(None, COPY, ETL).requirements

        assert [(each.group, each.offsets) for each in wanted.groups] == [("etl", (("orders", 0, 900),))]

    def test_a_group_that_was_translated_is_held_to_its_old_commits(self) -> None:
        wanted = drafted(grouped(), ETL).requirements

        assert wanted.checkpoint is None
        assert wanted.old_group is not None
        assert wanted.old_group.offsets == (("orders", 0, 1050),)

    @with_cases(
        ("group", "code"),
        [
            (None, "GROUP_UNREADABLE"),
            (GroupState(name="etl", error="not authorised"), "GROUP_UNREADABLE"),
            (GroupState(name="etl", state="Empty", type="Share"), "GROUP_TYPE"),
        ],
        ids=["not-read", "unreadable", "share"],
    )
    def test_a_group_that_cannot_be_put_back_is_refused(self, group: GroupState | None, code: str) -> None:
        new = snapshot(Cluster.NEW, groups=() if group is None else (group,))

        refused(code, None, ETL, new=new)

    def test_a_cluster_without_an_id_is_refused(self) -> None:
        made = comparison()
        anonymous = replace(made, new=replace(made.new, cluster_id=None))

        refused("CLUSTER_ID", anonymous, new=snapshot(Cluster.NEW, cluster_id=None))

    def test_a_topic_that_was_not_read_is_refused(self) -> None:
        refused("TOPIC_MISSING", old=snapshot(Cluster.OLD, topics=()))


class TestRefusals:
    @with_cases(
        "code", ["OPEN_TRANSACTION", "CLUSTER_UNCLEAR", "CHECKPOINT_DAMAGED", "ABORTED_VISIBLE", "PARTITIONS_FEWER"]
    )
    def test_a_finding_that_blocks_does_so_whatever_a_person_decides(self, code: str) -> None:
        refused(code, comparison(findings=(blocking(code, partition=0),)), overrides=((FIRST, override(940)),))

    @with_cases("code", ["BELOW_LOG_START", "LOG_REPLACED", "TOPIC_RECREATED"])
    def test_a_finding_about_one_place_gives_way_to_a_decision_about_it(self, code: str) -> None:
        made = comparison(findings=(blocking(code, partition=0),))
        refused(code, made)

        assert drafted(made, overrides=((FIRST, override(940)),)).totals.overridden == 1

    def test_findings_about_the_unedited_number_are_settled_by_the_plan(self) -> None:
        made = drafted(comparison(findings=(blocking("LOSS_INSIDE_LOG", partition=0),)))

        assert [finding.code for finding in made.findings] == ["LOSS_INSIDE_LOG"]

    def test_every_reason_is_told_at_once_those_of_one_kind_together(self) -> None:
        error = refused("UNTRANSLATED", comparison(*rows(*[UNPROVEN] * 9), findings=(blocking("CLUSTER_UNCLEAR"),)))

        assert "2 kinds of reasons" in error.problem
        assert error.problem.count("has no known position") == 5
        assert "And 4 more like these." in error.problem

    @with_cases("target", [COPY, IN_PLACE, STARTING, SEEDED])
    def test_a_group_has_no_checkpoint_to_write(self, target: Target) -> None:
        refused("NO_CHECKPOINT", grouped(), target)

    @with_cases(
        "targets",
        [(COPY, COPY), (COPY, IN_PLACE), (Target(kind="consumer-group"),), (replace(COPY, group="etl"),)],
        ids=["twice", "copy-and-in-place", "no-name", "name-for-a-folder"],
    )
    def test_targets_that_do_not_fit_together_are_refused(self, targets: tuple[Target, ...]) -> None:
        with pytest.raises(PlanError):
            drafted(None, *targets)

    def test_a_plan_needs_an_author_a_target_and_partitions(self) -> None:
        with pytest.raises(PlanError, match="partitions to plan"):
            drafted(comparison(partitions=()))
        for request in (DraftRequest(targets=(), author="ada"), DraftRequest(targets=(COPY,), author=" ")):
            with pytest.raises(PlanError):
                workflow.draft(
                    workflow.sample(),
                    subjects.checkpoint("payments"),
                    request,
                    comparison=observed("payments"),
                    drafted_at=AT,
                )

    def test_a_comparison_of_other_clusters_is_refused(self) -> None:
        with pytest.raises(PlanError, match="one new cluster"):
            drafted(new=snapshot(Cluster.NEW, cluster_id="another"))

    @with_cases("target", [STARTING, SEEDED])
    def test_a_fresh_checkpoint_takes_one_source(self, target: Target) -> None:
        refused("SOURCES", comparison(*rows({}, {"source": "1"})), target)

    def test_a_fresh_checkpoint_needs_every_partition(self) -> None:
        new = snapshot(Cluster.NEW, rows({}, {}))

        refused("PARTITION_MISSING", None, STARTING, new=new)

    def test_several_targets_stand_in_one_plan(self) -> None:
        made = drafted(None, COPY, STARTING, ETL)

        assert made.targets == (COPY, STARTING, ETL)

    @with_cases("target", EVERY, ids=str)
    def test_every_target_can_be_drafted(self, target: Target) -> None:
        made = drafted(None, target)

        assert made.keeps
        assert made.gives_up
        assert made.strategy

    def test_failback_is_a_plan_from_the_new_checkpoint_with_source_and_target_swapped(self) -> None:
        back = comparison(
            *rows(
                {
                    "old_offset": 990,
                    "new_offset": 1090,
                    "restart": (replace(ROW.restart[0], old=990, new=1090, batch=9),),
                }
            ),
            checkpoint=checkpoint(last_planned_batch=9, last_committed_batch=9, batches=(batch(8), batch(9))),
        )

        made = drafted(back)

        assert made.positions[0].restart[0].batch == 9
        assert made.requirements.checkpoint is not None
        assert made.requirements.checkpoint.last_committed_batch == 9
