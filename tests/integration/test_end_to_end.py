"""The whole way, by the command line, on real clusters: a stateful job moves and counts every record exactly once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
import yaml

from offsetwise.engines.checkpoint import read_checkpoint
from tests.commands import call
from tests.gates import of_all
from tests.integration.moving import GONE, RENAMED, TOPIC, Job, Moving, Scene, counted, move_copy, tree
from tests.integration.spark_pages import caught_up, event_log, history_server, pages


def test_a_job_goes_on_from_a_copy_and_counts_every_record_exactly_once(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move = moving(checkpoint)

    with event_log(job.spark, move.folder / "log") as log, pages(job.spark) as address:
        move_copy(scene, move, job.restarted())
        caught_up(job.spark)
        answers = [move.asked(at)[:2] for at in (address, str(log))]

    assert answers == [(0, "RESTORED_FROM_PLAN")] * 2
    code, turnouts, started = move.verify()
    assert (code, started) == (0, True)
    assert turnouts == {"MOVED_ON"}, "it began at exactly the planned positions"
    after_start = tree(move.copy)
    refused = call("rollback", move.receipt, "-m", move.migration, *move.trusted, "--execute", "--json").refused()
    assert "a query has run on it" in refused["problem"], "what a job has used is not taken away"
    assert tree(move.copy) == after_start


def test_a_copy_that_no_job_has_used_is_taken_back(scene: Scene, moving: Moving) -> None:
    _, checkpoint = scene.clean
    move = moving(checkpoint)
    old = tree(move.checkpoint)
    move.draft("spark-checkpoint")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    assert move.copy.exists()

    move.roll_back()

    assert not move.copy.exists()
    assert tree(move.checkpoint) == old


def test_a_batch_that_was_planned_and_not_committed_runs_once_on_the_new_cluster(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.pending
    move, restarted = moving(checkpoint), job.restarted()
    batch = scene.clean[0].seen[-1] + 1
    stopped_before = time.time() - 600
    os.utime(move.checkpoint / "offsets" / str(batch), (stopped_before, stopped_before))

    move_copy(scene, move, restarted)

    assert restarted.seen[0] == batch, "the planned batch is run again, under its own id"


def test_a_batch_that_was_planned_a_moment_ago_may_be_running(scene: Scene, moving: Moving) -> None:
    _, checkpoint = scene.pending
    move = moving(checkpoint)
    (move.checkpoint / "offsets" / str(scene.clean[0].seen[-1] + 1)).touch()
    move.draft("spark-checkpoint")

    error = call("apply", move.plan, "-m", move.migration, "--output", move.copy, "--json").refused()

    assert error["error"] == "RunningQueryError"
    assert not move.copy.exists()


def test_a_batch_that_an_unedited_start_left_behind_is_left_out(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.polluted
    restarted = job.restarted()
    polluted = scene.clean[0].seen[-1] + 1
    assert (checkpoint / "offsets" / str(polluted)).exists()
    move = moving(checkpoint)

    move_copy(scene, move, restarted)

    assert yaml.safe_load(move.plan.read_text(encoding="utf-8"))["dropped_batch"] == polluted


def test_a_checkpoint_edited_in_place_goes_on_exactly_once(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move, restarted = moving(checkpoint), job.restarted()
    move.draft("spark-checkpoint-in-place")
    move.sign()
    move.apply("--execute")
    scene.orders.arrive(50)

    restarted.run(scene.orders.lab.new_bootstrap, move.checkpoint)

    assert restarted.counts == scene.orders.truth()
    assert move.verify()[::2] == (0, True)


def test_a_checkpoint_edited_in_place_is_put_back_byte_for_byte(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move, restarted = moving(checkpoint), job.restarted()
    old = tree(move.checkpoint)
    move.draft("spark-checkpoint-in-place")
    move.sign()
    move.apply("--execute")
    assert tree(move.checkpoint) != old

    move.roll_back()

    assert tree(move.checkpoint) == old
    restarted.run(scene.orders.lab.old_bootstrap, move.checkpoint)
    assert restarted.counts == scene.orders.truth(), "the job goes on where it was, on the old cluster"


def test_the_same_job_restarted_unedited_loses_exactly_what_is_predicted(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move, restarted = moving(checkpoint), job.restarted()
    compared = move.compare()
    assert {row["partition"]: int(row["raw"]["skip"]) for row in compared["partitions"]} == GONE
    assert move.draft("spark-checkpoint")["prediction"]["effect"] == "silent skip"

    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    with event_log(job.spark, move.folder / "log") as log, pages(job.spark) as address:
        restarted.run(scene.orders.lab.new_bootstrap, move.checkpoint)
        caught_up(job.spark)
        answers = [move.asked(at)[:2] for at in (address, str(log))]
    assert answers == [(5, "RESTORED_FROM_OTHER")] * 2, "a query of the same id, on the original"

    lost = {
        (row["partition"], int(row["old_offset"]) + skipped)
        for row in compared["partitions"]
        for skipped in range(int(row["raw"]["skip"]))
    }
    assert len(lost) == sum(GONE.values())
    kept = [
        serial
        for (partition, offset), serial in scene.orders.by_offset.items()
        if offset >= GONE[partition] and (partition, offset) not in lost
    ]
    assert restarted.counts == counted(kept)


def test_an_offset_log_of_version_1_stays_one_whatever_the_setting_says(scene: Scene, moving: Moving) -> None:
    """As docs/versions.md says of 4.2.0: the newest file decides, and the setting counts for new queries only."""
    job, checkpoint = scene.clean
    move = moving(checkpoint)
    upgrading = Job(spark=job.spark, conf=(("spark.sql.streaming.offsetLog.formatVersion", "2"),))

    upgrading.run(scene.orders.lab.old_bootstrap, move.checkpoint)
    upgrading.run(scene.orders.lab.old_bootstrap, move.folder / "another checkpoint")

    def versions(folder: Path) -> dict[int, str]:
        batches = [path for path in (folder / "offsets").iterdir() if path.name.isdigit()]
        return {int(path.name): path.read_text().partition("\n")[0] for path in batches}

    assert upgrading.seen[0] == job.seen[-1] + 1, "it went on"
    assert set(versions(move.checkpoint).values()) == {"v1"}
    assert max(versions(move.checkpoint)) > job.seen[-1]
    assert set(versions(move.folder / "another checkpoint").values()) == {"v2"}
    assert read_checkpoint(str(move.checkpoint)).problems == ()


def test_a_job_with_a_new_checkpoint_says_that_it_started_fresh(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move = moving(checkpoint)
    move.draft("spark-checkpoint")
    move.sign()
    move.apply("--output", str(move.copy), "--execute")

    with event_log(job.spark, move.folder / "log") as log:
        Job(spark=job.spark).run(scene.orders.lab.new_bootstrap, move.folder / "another checkpoint")
        caught_up(job.spark)
    with history_server(log) as history:
        application = f"{history}/history/{job.spark.sparkContext.applicationId}"
        answers = [move.asked(at)[:2] for at in (str(log), application)]

    assert answers == [(5, "FRESH_START")] * 2


@pytest.mark.parametrize("state_format", of_all([1, 2], [2]))
def test_state_in_rocksdb_goes_on_exactly_once(scene: Scene, moving: Moving, state_format: int) -> None:
    job, checkpoint = scene.rocksdb[state_format - 1]
    assert ("stateUniqueIds" in (checkpoint / "commits" / "0").read_text()) is (state_format == 2)
    move_copy(scene, moving(checkpoint), job.restarted())


def test_a_job_whose_topic_is_renamed_goes_on_exactly_once(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move = moving(checkpoint, topics={"policy": "default"})
    move_copy(scene, move, job.restarted(), topic=RENAMED)


@pytest.mark.gates
def test_a_job_that_goes_back_reads_again_exactly_what_is_predicted(scene: Scene, moving: Moving) -> None:
    job, checkpoint = scene.clean
    move, restarted = moving(checkpoint), job.restarted()
    back_to = job.seen[-1] - 1
    last = json.loads((checkpoint / "offsets" / str(job.seen[-1])).read_text().splitlines()[2])[TOPIC]
    earlier = json.loads((checkpoint / "offsets" / str(back_to)).read_text().splitlines()[2])[TOPIC]
    again = sum(last[partition] - earlier[partition] for partition in last)

    plan = move.draft("spark-checkpoint", "--rewind-to", str(back_to), "--sink-rewound")
    assert int(plan["totals"]["replay"]) == again > 0
    move.sign()
    move.apply("--output", str(move.copy), "--execute")
    restarted.run(scene.orders.lab.new_bootstrap, move.copy)

    assert restarted.seen[0] == back_to + 1
    assert restarted.counts == scene.orders.truth(), "the state went back with the positions"
    assert move.verify()[::2] == (0, True)
