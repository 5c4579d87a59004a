"""The verbs without clusters: the bundled sample's snapshots, and what may be wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import offsetwise
from offsetwise import workflow
from offsetwise.config import Migration
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.errors import (
    CheckpointError,
    ClusterError,
    ConfigError,
    FileError,
    NotACheckpointError,
    OutsideRootsError,
    SameClusterError,
)
from offsetwise.model import (
    Checkpoint,
    Cluster,
    Comparison,
    Exactness,
    GroupState,
    MirrorState,
    PartitionComparison,
    RawVerdict,
    Snapshot,
    TopicState,
)
from tests.plugins.spark.folders import SAMPLES
from tests.subjects import checkpoint, group

SAMPLE = Path(offsetwise.__file__).parent / "sample"

Both = tuple[Snapshot, Snapshot]


@pytest.fixture(scope="module")
def migration() -> Migration:
    return workflow.sample()


@pytest.fixture(scope="module")
def both() -> Both:
    return workflow.load_snapshots(SAMPLE / "old.json", SAMPLE / "new.json")


def with_topic(snapshot: Snapshot, name: str, change: Callable[[TopicState], TopicState | None]) -> Snapshot:
    changed = ((change(topic) if topic.name == name else topic) for topic in snapshot.topics)
    return replace(snapshot, topics=tuple(topic for topic in changed if topic is not None))


def row(made: Comparison, topic: str, partition: int = 0) -> PartitionComparison:
    return next(each for each in made.partitions if each.topic_partition == (topic, partition))


def told(made: Comparison, code: str) -> list[tuple[str | None, int | None]]:
    return [(finding.topic, finding.partition) for finding in made.findings if finding.code == code]


def compare(migration: Migration, both: Both) -> Comparison:
    return workflow.compare(migration, checkpoint("orders"), snapshots=both)


class TestInspect:
    def test_raises_where_one_path_was_named(self, tmp_path: Path) -> None:
        with pytest.raises(NotACheckpointError):
            list(workflow.inspect([str(tmp_path)]))

    def test_gives_the_failure_of_one_among_several(self, tmp_path: Path) -> None:
        good, bad = workflow.inspect([str(SAMPLES / "spark-4.0.0-multi"), str(tmp_path)])

        assert isinstance(good, Checkpoint)
        assert isinstance(bad, FailedCheckpoint)
        assert (bad.uri, bad.error) == (str(tmp_path), "NotACheckpointError")

    def test_keeps_to_the_roots_it_is_given(self, tmp_path: Path) -> None:
        with pytest.raises(OutsideRootsError):
            list(workflow.inspect([str(SAMPLES / "spark-4.0.0-multi")], roots=(str(tmp_path),)))

    def test_reads_as_many_batches_as_asked(self) -> None:
        (read,) = workflow.inspect([str(SAMPLES / "spark-4.0.0-multi")], batches=2)

        assert isinstance(read, Checkpoint)
        assert [batch.id for batch in read.details.batches] == [5, 6]


class TestTheSample:
    def test_has_a_recorded_comparison_of_every_checkpoint(self, migration: Migration) -> None:
        for one in migration.checkpoints:
            made = workflow.sample_comparison(one.name)
            assert made.migration == migration.name
            assert {each.exactness for each in made.partitions} == {Exactness.EXACT}

    def test_has_no_other(self) -> None:
        with pytest.raises(FileError, match="comparison-nope"):
            workflow.sample_comparison("nope")

    def test_is_what_a_migration_file_gives(self, migration: Migration) -> None:
        assert workflow.load_migrations([SAMPLE / "migration.yaml"]) == (migration,)


class TestCompare:
    def test_tells_each_step_to_its_end(self, migration: Migration, both: Both) -> None:
        steps: list[tuple[str, int, int]] = []

        workflow.compare(migration, checkpoint("orders"), snapshots=both, progress=lambda *step: steps.append(step))

        assert steps == [
            ("read the checkpoint", 0, 1),
            ("read the checkpoint", 1, 1),
            ("judge", 0, 1),
            ("judge", 1, 1),
        ]

    def test_says_which_cluster_the_checkpoint_belongs_to_and_why(self, migration: Migration, both: Both) -> None:
        belongs = compare(migration, both).belongs_to

        assert belongs.cluster is Cluster.OLD
        assert "payments-0 is at 630, its log ends at 600" in belongs.reason

    def test_takes_the_migration_files_word_for_which_cluster(self, migration: Migration, both: Both) -> None:
        stated = migration.checkpoints[0].model_copy(update={"belongs_to": Cluster.OLD})
        made = compare(migration.model_copy(update={"checkpoints": (stated,)}), both)

        assert made.belongs_to.reason == "The migration file states it."

    def test_refuses_a_checkpoint_of_the_new_cluster(self, migration: Migration, both: Both) -> None:
        old, new = both
        back = (replace(new, cluster=Cluster.OLD), replace(old, cluster=Cluster.NEW))

        with pytest.raises(CheckpointError, match=r"found positions of the new one.*nothing to translate"):
            compare(migration, back)

    def test_refuses_one_cluster_seen_twice(self, migration: Migration, both: Both) -> None:
        old, new = both

        with pytest.raises(SameClusterError, match="found the cluster id"):
            compare(migration, (old, replace(new, cluster_id=old.cluster_id)))

    def test_does_not_take_two_unknown_cluster_ids_for_the_same(self, migration: Migration, both: Both) -> None:
        unknown = (replace(both[0], cluster_id=None), replace(both[1], cluster_id=None))

        assert compare(migration, unknown).summary.partitions == 8

    def test_refuses_to_take_a_group_back_to_a_batch(self, migration: Migration, both: Both) -> None:
        with pytest.raises(ConfigError, match="group orders-etl: expected a checkpoint to take back to batch 5"):
            workflow.compare(migration, group("orders-etl"), snapshots=both, rewind_to=5)

    def test_refuses_a_group_that_could_not_be_read_with_the_reason(self, migration: Migration, both: Both) -> None:
        denied = replace(both[0], groups=(GroupState(name="orders-etl", error="not authorised"),))

        with pytest.raises(ClusterError, match="it could not be read: not authorised"):
            workflow.compare(migration, group("orders-etl"), snapshots=(denied, both[1]))


class TestANewCluster:
    def test_without_the_topic_places_nothing(self, migration: Migration, both: Both) -> None:
        made = compare(migration, (both[0], with_topic(both[1], "orders", lambda _: None)))

        for partition in (0, 1):
            assert row(made, "orders", partition).new_offset is None
            assert row(made, "orders", partition).exactness is Exactness.UNKNOWN
            assert row(made, "orders", partition).raw.verdict is RawVerdict.UNKNOWN
        assert told(made, "TOPIC_MISSING")
        assert row(made, "payments").new_offset == row(compare(migration, both), "payments").new_offset is not None

    def test_with_fewer_partitions_places_those_it_has(self, migration: Migration, both: Both) -> None:
        one = with_topic(both[1], "orders", lambda topic: replace(topic, partitions=topic.partitions[:1]))

        made = compare(migration, (both[0], one))

        whole = row(compare(migration, both), "orders", 0).new_offset
        assert whole is not None
        assert (row(made, "orders", 0).new_offset, row(made, "orders", 1).new_offset) == (whole, None)
        assert told(made, "PARTITIONS_FEWER") == [("orders", None)]
        assert told(made, "PARTITION_MISSING") == [("orders", 1)]

    def test_with_more_partitions_has_a_row_for_each(self, migration: Migration, both: Both) -> None:
        third = with_topic(
            both[1],
            "orders",
            lambda topic: replace(topic, partitions=(*topic.partitions, replace(topic.partitions[0], partition=2))),
        )

        made = compare(migration, (both[0], third))

        assert (row(made, "orders", 2).old_offset, row(made, "orders", 2).new_offset) == (None, 0)
        assert ("orders", 2) in told(made, "NEW_PARTITION")

    def test_whose_topic_was_recreated_is_not_given_the_mirrors_old_answers(
        self, migration: Migration, both: Both
    ) -> None:
        def recreated(topic: TopicState) -> TopicState:
            return replace(topic, partitions=tuple(replace(p, log_start=0, lso=40, hw=40) for p in topic.partitions))

        made = compare(migration, (both[0], with_topic(both[1], "orders", recreated)))

        for partition in (0, 1):
            assert (row(made, "orders", partition).new_offset or 0) <= 40
            assert not row(made, "orders", partition).exactness.proven
            assert row(made, "orders", partition).raw.verdict is RawVerdict.OUT_OF_RANGE

    def test_that_did_not_say_where_a_log_ends_leaves_that_partition_unknown(
        self, migration: Migration, both: Both
    ) -> None:
        def unread(topic: TopicState) -> TopicState:
            first = replace(topic.partitions[0], log_start=None, lso=None, hw=None, error="the leader did not answer")
            return replace(topic, partitions=(first, *topic.partitions[1:]))

        made = compare(migration, (both[0], with_topic(both[1], "orders", unread)))

        lost = row(made, "orders", 0)
        assert (lost.new_offset, lost.lag_new, lost.exactness) == (None, None, Exactness.UNKNOWN)
        assert row(made, "orders", 1).new_offset == row(compare(migration, both), "orders", 1).new_offset is not None

    def test_that_could_not_be_read_at_all_is_not_taken_for_empty(self, migration: Migration, both: Both) -> None:
        silent = replace(both[1], topics=(), mirror=MirrorState())

        made = workflow.compare(
            migration.model_copy(update={"checkpoints": migration.checkpoints[:1]}),
            checkpoint("orders"),
            snapshots=(both[0], silent),
        )

        assert {each.new_offset for each in made.partitions} == {None}
        assert {each.exactness for each in made.partitions} == {Exactness.UNKNOWN}


class TestSnapshots:
    def test_are_read_old_one_first(self, both: Both) -> None:
        assert [each.cluster for each in both] == [Cluster.OLD, Cluster.NEW]

    def test_in_the_wrong_order_are_refused(self) -> None:
        with pytest.raises(FileError, match="expected a snapshot of the old cluster, found one of the new cluster"):
            workflow.load_snapshots(SAMPLE / "new.json", SAMPLE / "old.json")
