"""Remedies of what is wrong in recorded checkpoints, each damaged as its sentence says and then mended."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from offsetwise.engines.checkpoint import read_batch_files, read_checkpoint
from offsetwise.findings import judge_migration
from offsetwise.findings.reading import blocking_problems
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.model import Problem, Target
from offsetwise.plugins.spark.engine import checkpoint as spark
from tests.commands import call
from tests.findings import test_migration_findings as of_migrations
from tests.plan.scene import ETL, comparison, drafted
from tests.plugins.flink.files import (
    Op,
    coordinator,
    integer,
    kafka_source,
    kafka_split,
    metadata,
    reader_element,
    state,
    subtask,
    utf,
    versioned,
)
from tests.plugins.flink.test_ways import savepoint
from tests.plugins.kinesis.test_checkpoints import AWSLABS, COMMITTER, DATA, PENDING, TABLE
from tests.plugins.kinesis.test_lease_tables import FIRST, leases
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.plugins.spark.repair.flow import aged, applied
from tests.plugins.spark.repair.test_repairs import DAMAGED, ID, LEGACY, TWO_LEFT
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_kinesis import CHILDREN, PARENT, dumped, split

Call = Callable[[], object]
READER = "engines/checkpoint.py::"
READING = "findings/reading.py::"
LOGS = "plugins/spark/engine/findings.py::"
SAVEPOINT = SAMPLES / "flink-1.20"
PLANNED = SAMPLES / "spark-3.5.1-planned"
POLLUTED = SAMPLES / "spark-4.2.0-polluted-after-failed-start"
QUBOLE = DATA / "spark" / "qubole-1.2.0-committed"


def copied(scene: Scene, recorded: Path, name: str = "query") -> Path:
    """Return a copy of a recorded checkpoint, as old as that of a stopped query."""
    return aged(shutil.copytree(recorded, scene.folder / name))


def restored(folder: Path, recorded: Path) -> Call:
    def follow() -> None:
        shutil.rmtree(folder)
        aged(shutil.copytree(recorded, folder))

    return follow


def stated(folder: Path) -> Call:
    """Return the read of a checkpoint, which states what is wrong with it."""
    return lambda: read_checkpoint(str(folder)).problems


def blocked(folder: Path) -> Call:
    """Return the read of a checkpoint, refused as long as it has what blocks a plan."""
    return lambda: tuple(
        Problem(code="printed", message=problem.message, fix=problem.fix)
        for problem in blocking_problems(read_checkpoint(str(folder)).problems)
    )


def committed(folder: Path, batch: int) -> Call:
    """Return what Spark does when a batch commits."""
    return lambda: shutil.copy(folder / "commits" / str(batch - 1), folder / "commits" / str(batch))


def by_command(scene: Scene, folder: Path) -> Steps:
    """Return a walk that gives the command of the remedy, signs its plan, applies it and reads the copy."""
    work = scene.folder / "work"
    work.mkdir()

    def follow() -> None:
        remedies = " ".join(problem.fix for problem in read_checkpoint(str(folder)).problems)
        (given,) = re.findall(r"offsetwise (draft .*?plan\.json)", remedies)
        values = {"URI": str(folder), "NAME": "ada", "UUID": ID, "plan.json": str(work / "plan.json")}
        ran = call(*shlex.split(re.sub(r"\b(URI|NAME|UUID|plan\.json)\b", lambda name: values[name[0]], given)))
        assert ran.code == 0, ran.err
        assert not blocking_problems(read_checkpoint(str(applied(work))).problems)

    return Steps(stated(folder), follow, stated(work / "copy"))


# What is at a path.
@walk(READER + "read_batch_files", "Look at its restart alone")
def batch_of_a_savepoint(_: Scene) -> Steps:
    def restart() -> None:
        assert read_checkpoint(str(SAVEPOINT)).restart

    return Steps(lambda: read_batch_files(str(SAVEPOINT), 3), lambda: None, restart)


@walk(READER + "_entries", "Give the folder that holds")
def batch_of_a_file(_: Scene) -> Steps:
    return Steps(
        lambda: read_batch_files(str(PLANNED / "metadata"), 3),
        lambda: None,
        lambda: read_batch_files(str(PLANNED), 3) and None,
    )


@walk(READER + "_engine", "Leave in it the files of one engine only")
def folder_of_two_engines(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    shutil.copy(SAVEPOINT / "_metadata", folder)
    return Steps(lambda: read_checkpoint(str(folder)) and None, (folder / "_metadata").unlink)


@walk(READER + "_engine", "a job writes its checkpoint when it first starts")
def folder_without_a_file(scene: Scene) -> Steps:
    (scene.folder / "empty").mkdir()
    return Steps(
        lambda: read_checkpoint(str(scene.folder / "empty")) and None,
        lambda: None,
        lambda: read_checkpoint(str(PLANNED)) and None,
    )


FOLDER = "plugins/spark/engine/folder.py::require_checkpoint"


@walk(FOLDER, "Give the folder that holds offsets/")
def file_for_a_query(_: Scene) -> Steps:
    return Steps(
        lambda: spark.read_checkpoint(str(PLANNED / "metadata")) and None,
        lambda: None,
        lambda: spark.read_checkpoint(str(PLANNED)) and None,
    )


@walk(FOLDER, "a query writes its checkpoint when it first starts")
def folder_before_the_first_start(scene: Scene) -> Steps:
    folder = scene.folder / "query"
    folder.mkdir()
    return Steps(
        lambda: spark.read_checkpoint(str(folder)) and None,
        lambda: write(checkpoint({0: orders(10)}, (0,)), folder),
    )


# A query of Spark that reads Kafka.
SPARK = "plugins/spark/engine/checkpoint.py::"


@walk(SPARK + "_parsed", "that has the query's id again", name="query_without_its_id")
def _(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    (folder / "metadata").unlink()
    return by_command(scene, folder)


@walk(SPARK + "_parsed", "without it, in which its batch runs again", name="commit_garbled")
def _(scene: Scene) -> Steps:
    folder = copied(scene, POLLUTED)
    (folder / "commits" / "1").write_bytes(b"")
    shutil.rmtree(folder / "offsets")
    shutil.copytree(POLLUTED / "offsets", folder / "offsets", ignore=shutil.ignore_patterns("2", ".2.crc"))
    return by_command(scene, aged(folder))


@walk(SPARK + "_parsed", "leaves its batch out", name="pending_batch_garbled")
def _(scene: Scene) -> Steps:
    folder = copied(scene, POLLUTED)
    (folder / "offsets" / "2").write_bytes(b"")
    return by_command(scene, aged(folder))


def odd_name(name: str, words: str, of: str, path: str, then: Callable[[Path], object]) -> None:
    """Add a walk from a copy in which a file of batch 1 has another name too, or only that."""

    @walk("plugins/spark/engine/restart.py::odd_name", words, name=name)
    def _(scene: Scene) -> Steps:
        folder = copied(scene, POLLUTED)
        (folder / "offsets" / "2").unlink()
        (shutil.copy if of == "too" else shutil.move)(folder / "offsets" / "1", folder / "offsets" / path)
        return Steps(blocked(folder), lambda: then(folder / "offsets"))


odd_name("number_of_no_batch", "no batch is lost with it", "too", str(2**63), lambda log: (log / str(2**63)).unlink())
odd_name("number_with_a_sign", "is right.", "too", "+1", lambda log: (log / "+1").unlink())
odd_name("number_with_zeros", "Rename it to", "alone", "01", lambda log: (log / "01").rename(log / "1"))


@walk(SPARK + "_running", "Stop the query, then inspect again")
def query_that_runs(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    temporary = folder / "offsets" / ".4.d2e1b0c9-4f5e-4a0d-8a2e-0f6d3c1b7a55.tmp"
    temporary.write_bytes(b"v1\n")

    def stop() -> None:
        temporary.unlink()

    return Steps(stated(folder), stop)


POSITIONS = "plugins/spark/engine/positions.py::"


@walk(POSITIONS + "_backwards", "in a copy before anything else")
def planned_on_another_cluster(scene: Scene) -> Steps:
    copy = scene.folder / "copy"

    def drop() -> None:
        shutil.copytree(POLLUTED, copy)
        (copy / "offsets" / "2").unlink()

    return Steps(blocked(POLLUTED), drop, blocked(copy))


@walk(POSITIONS + "_pending", "start the job there, and stop it after the batch")
def batch_that_is_pending(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    return Steps(stated(folder), committed(folder, 3))


@walk(POSITIONS + "_new_partition", "Let the batch commit on the old cluster first")
def partition_that_a_pending_batch_begins(scene: Scene) -> Steps:
    lines = {3: '{"orders":{"0":100}}', 4: orders(150)}
    folder = aged(write(checkpoint(lines, (3,)), scene.folder / "query"))
    return Steps(stated(folder), committed(folder, 4))


@walk(POSITIONS + "_new_partition", "Repair first what blocks", name="partition_of_a_batch_that_cannot_run")
def _(scene: Scene) -> Steps:
    lines = {3: '{"orders":{"0":100}}', 4: orders(150)}
    return by_command(scene, aged(write(checkpoint(lines, (3,)) | {"metadata": b"{"}, scene.folder / "query")))


@walk("plugins/spark/engine/restart.py::stale_checksum", "If the edit was meant, delete")
def offsets_edited_by_hand(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    file = folder / "offsets" / "3"
    file.write_bytes(file.read_bytes().replace(b'"batchWatermarkMs":0', b'"batchWatermarkMs":1'))
    return Steps(blocked(folder), (folder / "offsets" / ".3.crc").unlink)


@walk("plugins/spark/engine/restart.py::damaged", "Restore the folder from a copy")
def batches_lost(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    (folder / "offsets" / "2").unlink()
    return Steps(blocked(folder), restored(folder, PLANNED))


@walk(LOGS + "topic_dropped", "back into the batch in a repaired copy", name="topic_put_back")
def _(scene: Scene) -> Steps:
    return by_command(scene, copied(scene, SAMPLES.parent / "cases" / "spark-topic-gone-pending"))


@walk(LOGS + "topic_dropped", "back into the batch in a repaired copy", name="topics_put_back_together")
def _(scene: Scene) -> Steps:
    lines = {3: TWO_LEFT, 4: '{"orders":{"0":200}}'}
    return by_command(scene, aged(write(checkpoint(lines, (3,)), scene.folder / "query")))


@walk(LOGS + "topic_left", "from there, subscribe to", name="topic_taken_up_again")
def _(scene: Scene) -> Steps:
    lines = {2: LEGACY, 3: '{"orders":{"0":160}}', 4: '{"orders":{"0":200}}'}
    return by_command(scene, aged(write(checkpoint(lines, (2, 3, 4)), scene.folder / "query")))


@walk(READING + "gap", "if not, restore the folder", name="files_lost_in_the_middle")
def _(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    for log in ("offsets", "commits"):
        (folder / log / "1").unlink()
    return Steps(stated(folder), restored(folder, PLANNED))


# A query of Spark that reads Kinesis.
KINESIS = "plugins/spark/engine/kinesis/__init__.py::"


@walk(KINESIS + "_lost", "draft a copy that has them")
def ends_of_a_batch_lost(scene: Scene) -> Steps:
    return by_command(scene, aged(write(DAMAGED["rebuild-shard-commit"], scene.folder / "query")))


@walk(KINESIS + "_rebuilt", "draft a copy with whole ends")
def end_of_a_shard_that_is_lost(scene: Scene) -> Steps:
    other = {"sources/0/shard-commit/22/shardId-000000000001": b"{}"}
    files = write(DAMAGED["rebuild-shard-commit"] | other, scene.folder / "query")
    (files / next(iter(other))).unlink()
    return by_command(scene, aged(files))


@walk(KINESIS + "_rebuilt", "draft a copy with whole ends")
def end_of_a_shard_that_is_half_written(scene: Scene) -> Steps:
    end = {"sources/0/shard-commit/22/shardId-000000000000": b'{"shardId":"shardId-0'}
    return by_command(scene, aged(write(DAMAGED["rebuild-shard-commit"] | end, scene.folder / "query")))


@walk(KINESIS + "_elsewhere", "Copy the folder")
def ends_in_another_folder(scene: Scene) -> Steps:
    folder, elsewhere = copied(scene, QUBOLE), scene.folder / "metadata" / "shard-commit"
    shutil.move(folder / "sources" / "0" / "shard-commit", elsewhere)
    return Steps(blocked(folder), lambda: shutil.copytree(elsewhere, folder / "sources" / "0" / "shard-commit"))


@walk(KINESIS + "_runs_again", "Let it commit before the job is moved")
def batch_of_shards_that_is_pending(scene: Scene) -> Steps:
    folder = copied(scene, PENDING)
    return Steps(stated(folder), committed(folder, 3))


@walk(KINESIS + "_from_folder", "If the edit was meant, delete the checksum")
def end_of_a_shard_edited_by_hand(scene: Scene) -> Steps:
    folder = copied(scene, AWSLABS)
    checksum, *_ = sorted((folder / "sources" / "0").rglob(".shardId-*.crc"))
    end = checksum.with_name(checksum.name.removeprefix(".").removesuffix(".crc"))
    end.write_text(json.dumps(json.loads(end.read_text()), indent=1))
    return Steps(blocked(folder), checksum.unlink)


@walk(KINESIS + "_from_table", "Name the table that the query writes the ends of its batches to")
def table_that_is_no_committers(scene: Scene) -> Steps:
    other = scene.write("other.json", json.dumps({"Items": [{"id": {"S": "1"}}]}))
    return Steps(
        lambda: read_checkpoint(str(COMMITTER), options={"committer": str(other)}),
        lambda: None,
        lambda: read_checkpoint(str(COMMITTER), options={"committer": str(TABLE)}),
    )


# Jobs of Flink.
FLINK = "plugins/flink/engine/source.py::"
ANOTHER = "Start from another checkpoint or savepoint"


@walk(FLINK + "_unread", ANOTHER)
def split_that_no_reader_keeps(_: Scene) -> Steps:
    (lost,) = (SAMPLES.parent / "cases" / "flink-40469-reader-lost-split").iterdir()
    return Steps(stated(lost), lambda: None, stated(SAVEPOINT))


@walk(FLINK + "_nothing_kept", ANOTHER)
def legacy_consumer_without_a_partition(scene: Scene) -> Steps:
    none = Op(subtasks=[subtask(0, state("topic-partition-offset-states", [], mode=1))])
    folder = write({"_metadata": metadata(none)}, scene.folder / "savepoint-1")
    return Steps(stated(folder), lambda: None, stated(SAMPLES / "flink-1.20-legacy-consumer"))


@walk(FLINK + "_stops", "Let the bounded job finish on the old cluster")
def job_with_an_end(scene: Scene) -> Steps:
    """A job that has finished keeps its operators as finished ones, and no position."""
    bounded = Op(subtasks=[subtask(0, state("SourceReaderState", [reader_element("orders", 0, 5, 9)]))])
    folder = write({"_metadata": metadata(bounded)}, scene.folder / "chk-7")
    return Steps(stated(folder), lambda: write({"_metadata": metadata(Op(finished=True))}, folder))


@walk(FLINK + "damaged", ANOTHER)
def partition_kept_twice(scene: Scene) -> Steps:
    twice = Op(
        subtasks=[subtask(number, state("SourceReaderState", [reader_element("orders", 0, 5)])) for number in (0, 1)]
    )
    folder = write({"_metadata": metadata(twice)}, scene.folder / "chk-7")
    earlier = write({"_metadata": metadata(kafka_source({0: 5}))}, scene.folder / "chk-6")
    return Steps(blocked(folder), lambda: None, blocked(earlier))


@walk("findings/migration.py::source_not_compared", "write the positions of the other sources elsewhere")
def source_of_several_clusters(_: Scene) -> Steps:
    case, _code, _words = of_migrations.FIRES["source of several clusters"]
    stated_of_it = judge_migration(case)
    return Steps(
        lambda: stated_of_it, lambda: None, lambda: drafted(comparison(*case.rows, findings=stated_of_it), ETL) and None
    )


DYNAMIC = SAMPLES.parent / "dynamic-kafka" / "flink-2.2.0"
SEVERAL = "findings/several_clusters.py::_problems"


def on_west(folder: Path) -> Call:
    """Return the read of a savepoint whose DynamicKafkaSource calls the old cluster `west`."""
    return lambda: on_cluster(read_checkpoint(str(folder)), "west").problems


def dynamic(scene: Scene, element: bytes) -> Path:
    others = [("orders", 0, 5, 0), ("orders", 1, 5, 0)]
    body = b"".join(utf(topic) + integer(at) + integer(status) for topic, at, _, status in others)
    listed = integer(len(others)) + body + b"\x01"
    streams = integer(1) + utf("s") + integer(1) + utf("west") + integer(1) + utf("orders") + utf("old:9092")
    known = streams + integer(2) + integer(1) + utf("west") + integer(len(listed)) + listed
    kept = [versioned(utf("west") + integer(0) + kafka_split("orders", 0, 5), 1), element]
    source = Op(subtasks=[subtask(0, state("SourceReaderState", kept))], coordinator=coordinator(known, 1))
    return write({"_metadata": metadata(source)}, scene.folder / "savepoint-1")


@walk(SEVERAL, ANOTHER)
def split_of_one_of_several_clusters_that_no_reader_keeps(scene: Scene) -> Steps:
    unread = dynamic(scene, versioned(utf("east") + integer(0) + kafka_split("orders", 1, 5), 1))
    return Steps(on_west(unread), lambda: None, on_west(DYNAMIC))


@walk(SEVERAL, "Let the bounded job finish on the old cluster")
def job_with_an_end_on_one_of_several_clusters(scene: Scene) -> Steps:
    folder = dynamic(scene, versioned(utf("west") + integer(0) + kafka_split("orders", 1, 5, 9), 1))
    return Steps(on_west(folder), lambda: write({"_metadata": metadata(Op(finished=True))}, folder))


@walk("plan/strategies.py::_against_one_of_several", "Write to a copy of its savepoint alone")
def group_for_one_of_several_clusters(_: Scene) -> Steps:
    made = savepoint()
    assert made.checkpoint is not None
    sources = tuple(replace(source, cluster="west") for source in made.checkpoint.sources)
    compared = replace(made, checkpoint=replace(made.checkpoint, sources=sources))
    return Steps(
        lambda: drafted(compared, ETL) and None,
        lambda: None,
        lambda: drafted(compared, Target(kind="flink-savepoint")) and None,
    )


# Lease tables.
def corrected_row(
    scope: str, name: str, wrong: dict[str, object] | None, right: Callable[[], list[dict[str, object]]]
) -> None:
    """Add a walk from a table with a wrong first row, or with the first row twice where None, to the right one."""

    @walk(f"plugins/kinesis/kcl/kinesis.py::{scope}", "Correct the row", name=name)
    def _(scene: Scene) -> Steps:
        first, *others = right()
        rows = [first, first, *others] if wrong is None else [first | wrong, *others]
        return Steps(dumped(scene, rows), lambda: dumped(scene, right()))


corrected_row("_rows", "lease_that_is_no_number", {"checkpoint": {"S": f"{FIRST}x"}}, leases)
corrected_row("_rows", "lease_that_is_there_twice", None, leases)
corrected_row(
    "_shared",
    "child_of_another_parent",
    {"parentShardId": {"SS": ["shardId-000000000009"]}},
    lambda: [split()[name] for name in (CHILDREN[0], PARENT, CHILDREN[1])],
)
