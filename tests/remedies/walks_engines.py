"""Remedies of what the engines' readers find in checkpoints, and of files that name an engine of a later release."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from offsetwise import files
from offsetwise.config import CheckpointConfig, ClusterConfig, Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.registry import engine_of
from offsetwise.engines.rows import read_one
from offsetwise.model import Outcome, Problem, Subject
from offsetwise.plan.sinks.gate import PENDING
from offsetwise.plugins.flink.engine import checkpoint as flink
from offsetwise.registry import ENGINES
from offsetwise.workflow.scenes import WantedJob, _checkpoint
from tests.plan import test_sinks as of_plans
from tests.plugins.flink.files import CHECKPOINT, UID, Op, inline, integer, kafka_source, long, metadata, subtask
from tests.plugins.flink.test_hygiene import JOB
from tests.plugins.kinesis.streams import STREAM, lease
from tests.plugins.kinesis.test_lease_tables import FIRST
from tests.plugins.kinesis.test_same_stream import DATA
from tests.plugins.spark.folders import FLINK_NAMES, SAMPLES, write
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_streams import TRAITS, compared, draft, made
from tests.toys.engine.engine import TOY

CHECKPOINTS = "plugins/flink/engine/checkpoint.py::"
FLINK = "plugins/flink/engine/findings.py::"
SPARK = "plugins/spark/targets/migration_rules.py::"
SAVEPOINT = SAMPLES / FLINK_NAMES[0]


@walk(CHECKPOINTS + "_metadata", "Give the folder that holds _metadata")
def folder_above_the_checkpoints(scene: Scene) -> Steps:
    write({f"{JOB}/chk-7/_metadata": metadata(kafka_source({0: 5}))}, scene.folder)
    given = [scene.folder / JOB / "_metadata"]
    return Steps(
        lambda: read_checkpoint(str(given[0])) and None,
        lambda: given.__setitem__(0, scene.folder / JOB / "chk-7"),
    )


@walk(CHECKPOINTS + "_parsed", "and take a new savepoint there")
def savepoint_of_an_old_flink(scene: Scene) -> Steps:
    path = write({"_metadata": metadata(kafka_source({0: 5}), version=3)}, scene.folder / "savepoint-1")
    return Steps(
        lambda: read_checkpoint(str(path)) and None,
        lambda: shutil.copy(SAVEPOINT / "_metadata", path / "_metadata"),
    )


@walk(CHECKPOINTS + "_require_known", "Check the spelling in the job's code")
def uid_that_is_mistyped(scene: Scene) -> Steps:
    write({"_metadata": metadata(kafka_source({0: 5}))}, scene.folder)
    uids = [UID.upper()]
    return Steps(lambda: flink.read_checkpoint(str(scene.folder), uids=uids) and None, lambda: uids.__setitem__(0, UID))


@walk(FLINK + "checkpoint_unaligned", "Take a savepoint: it is always aligned")
def checkpoint_unaligned(scene: Scene) -> Steps:
    in_flight = integer(0) + integer(0) + integer(3) + integer(1) + long(0) + long(77) + inline(b"r" * 77)
    op = Op(uid="map", subtasks=[subtask(0, incoming=[in_flight])])
    path = write({"_metadata": metadata(op, kafka_source({0: 5}), tail=CHECKPOINT)}, scene.folder / "chk-7")
    return Steps(
        lambda: read_checkpoint(str(path)).problems, lambda: None, lambda: read_checkpoint(str(SAVEPOINT)).problems
    )


@walk(FLINK + "transaction_pending", "Ask the sink's cluster whether they are committed")
def transaction_pending(_: Scene) -> Steps:
    def asked() -> None:
        plan = of_plans.plan(of_plans.SETTLED, job=of_plans.STAYS, mark_settled=False)
        assert of_plans.outcome(PENDING, plan) is Outcome.PASSED

    pending = str(SAMPLES / "flink-2.3-pending-transaction")
    return Steps(lambda: read_checkpoint(pending).problems, lambda: None, asked)


@walk(FLINK + "checkpoint_not_retained", "Stop the job with a savepoint.", name="checkpoint_not_retained_now")
@walk(FLINK + "checkpoint_not_retained", "; and set execution.checkpointing")
def checkpoint_not_retained(scene: Scene) -> Steps:
    real = (SAVEPOINT / "_metadata").read_bytes()
    properties = real[real.index(b"\xac\xed\x00\x05") :].replace(b".SavepointType\xa0", b".CheckpointType\xa0")
    flags = properties.index(b";xp") + 3
    discarded = properties[:flags] + b"\x01" + properties[flags + 1 :]
    path = write({"_metadata": metadata(kafka_source({0: 5}), tail=discarded)}, scene.folder / "chk-7")
    return Steps(
        lambda: read_checkpoint(str(path)).problems, lambda: None, lambda: read_checkpoint(str(SAVEPOINT)).problems
    )


@walk(FLINK + "checkpoint_interval", "Keep execution.checkpointing.interval", name="checkpoint_interval_kept")
@walk(FLINK + "checkpoint_interval", "Nothing, if the job may read so much again")
def checkpoint_interval(scene: Scene) -> Steps:
    held = {n: metadata(kafka_source({0: 5}), checkpoint_id=n, tail=CHECKPOINT) for n in (9, 10)}
    job = write({f"{JOB}/chk-{n}/_metadata": data for n, data in held.items()}, scene.folder) / JOB

    def written(*at_s: int) -> None:
        for number, at in zip(held, at_s, strict=True):
            os.utime(job / f"chk-{number}" / "_metadata", (at, at))

    def short() -> tuple[Problem, ...]:
        problems = read_checkpoint(str(job / "chk-10")).problems
        return tuple(each for each in problems if "less than the 10 s" in each.message)

    written(1_000, 1_002)
    return Steps(short, lambda: written(1_000, 1_010))


@walk("plugins/kinesis/kcl/findings.py::lease_pending", "Nothing: the worker that takes the lease is handed it")
def lease_pending(scene: Scene) -> Steps:
    prepared = {"pendingCheckpoint": {"S": FIRST}, "pendingCheckpointSubSequenceNumber": {"N": "0"}}
    path = made(scene).migration(scene.folder, lease(0, "TRIM_HORIZON", **prepared), lease(1, "9"), job=TRAITS)
    return Steps(lambda: compared(path), lambda: None, lambda: draft(path, "kcl-leases:app"))


@walk("engines/registry.py::_unknown_engine", "or use the release of Offsetwise that wrote the file")
def engine_of_another_release(scene: Scene) -> Steps:
    read = json.loads(files.dump(read_checkpoint(str(SAVEPOINT))))
    path = scene.write("checkpoint.json", json.dumps(read | {"engine": TOY.name}))
    return Steps(
        lambda: engine_of(json.loads(path.read_text())["engine"]) and None,
        lambda: scene.patch.setitem(ENGINES, TOY.name, lambda: TOY),
    )


@walk("engines/rows.py::read_one", "Inspect it alone")
def checkpoint_that_fails_among_many(scene: Scene) -> Steps:
    def fails(_: bytes) -> None:
        raise MemoryError("no memory is left beside what the other checkpoints take")

    digest = hashlib.sha256
    scene.patch.setattr(hashlib, "sha256", fails)
    return Steps(
        lambda: (read_one(str(SAVEPOINT), roots=None, batches=0),),
        lambda: scene.patch.setattr(hashlib, "sha256", digest),
        lambda: read_checkpoint(str(SAVEPOINT)) and None,
    )


def query_behind_a_split(scene: Scene) -> Path:
    """Return a migration of a Spark query that was down while the shard it had not read was split."""
    stream = made(scene)
    folder = shutil.copytree(
        DATA / "spark" / "awslabs-2.0.0-committed", scene.folder / "query", ignore=shutil.ignore_patterns("*.crc")
    )
    for number, last in ((0, "1"), (1, "9")):
        end = folder / "sources" / "0" / "shard-source" / "0" / f"shardId-{number:012}"
        end.write_text(json.dumps(json.loads(end.read_text()) | {"iteratorPosition": last}))
    line = folder / "offsets" / "0"
    line.write_text(line.read_text().replace('"spk"', f'"{STREAM}"'))
    stream.split()
    path = stream.migration(scene.folder, job="{stateful: false, sink: kafka, tolerates_replay: true}")
    path.write_text(path.read_text().replace("./dumps/app.json", "./query"))
    return path


def names_every_shard(path: Path) -> None:
    draft(path, "starting-position")
    plan = json.loads((path.parent / "starting-position.json").read_text())
    assert [each["partition"] for each in plan["positions"]] == [0, 1, 2, 3]


@walk(SPARK + "children_at_now", "Write a starting position of every shard")
def children_at_now(scene: Scene) -> Steps:
    path = query_behind_a_split(scene)
    return Steps(lambda: compared(path), lambda: None, lambda: names_every_shard(path))


@walk(SPARK + "closed_shard_dropped", "Begin a query anew at a starting position")
def closed_shard_dropped(scene: Scene) -> Steps:
    path = query_behind_a_split(scene)
    return Steps(lambda: compared(path), lambda: None, lambda: names_every_shard(path))


@walk("plan/moving.py::require_rewinding", "Draft without --set rewind_to")
def savepoint_that_keeps_no_earlier_batch(scene: Scene) -> Steps:  # noqa: ARG001 - as every walk
    config = CheckpointConfig(name="orders", uri=str(SAVEPOINT))
    sides = {side: ClusterConfig(name=side, properties={"bootstrap.servers": f"{side}:1"}) for side in ("old", "new")}
    of = Migration(name="m", source=sides["old"], target=sides["new"], checkpoints=(config,))
    subject = Subject.either(checkpoint="orders", group=None)
    return Steps(
        lambda: _checkpoint(of, config, WantedJob.of(subject, rewind_to=4)) and None,
        lambda: None,
        lambda: _checkpoint(of, config, WantedJob.of(subject)) and None,
    )
