"""A pending batch that does not run again as it was planned, because a file that its start needs is lost or damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings.register import severity_of
from offsetwise.findings.target_position import new_partition
from offsetwise.model import Checkpoint, Severity
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.findings import pending_batch
from tests.findings.cases import migration
from tests.plugins.kinesis.test_checkpoints import PENDING
from tests.plugins.spark.folders import MemoryFolder, checkpoint, orders
from tests.with_cases import with_cases

FILES = checkpoint({3: orders(100), 4: orders(150), 5: orders(180)}, (3, 4))
FIRST = checkpoint({0: orders(180)})


def without(*paths: str) -> dict[str, bytes]:
    return {path: data for path, data in FILES.items() if path not in paths}


SPARK_DOES_NOT_START = {
    "the batch before it is lost": without("offsets/4"),
    "the batch before it is damaged": FILES | {"offsets/4": b"v1\n{"},
    "the batch before it is empty": FILES | {"offsets/4": b""},
    "its own source is damaged": FILES | {"offsets/5": FILES["offsets/5"].replace(b'"orders"', b'"orders')},
    "the source before it is damaged": FILES | {"offsets/4": FILES["offsets/4"].replace(b'"orders"', b'"orders')},
    "the last commit is damaged": FILES | {"commits/4": b""},
    "the id is damaged": FILES | {"metadata": b"{"},
    "its name has a zero": without("offsets/5") | {"offsets/05": FILES["offsets/5"], "offsets/4": FILES["offsets/4"]},
    "a source was lost": FILES | {"offsets/4": FILES["offsets/4"] + b"\n7"},
    "its initial offsets are damaged": FIRST | {"sources/0/0": b'\0v1\n{"orders":{"0":'},
    "its initial offsets are lost": {path: data for path, data in FIRST.items() if not path.startswith("sources/")},
}
STARTS = {
    "nothing is damaged": FILES,
    "the id is lost": without("metadata"),
    "a commit in the middle is lost": checkpoint({2: orders(9), 3: orders(10), 4: orders(20), 5: orders(30)}, (2, 4)),
    "an earlier batch is damaged": checkpoint({2: b"", 3: orders(10), 4: orders(20), 5: orders(30)}, (2, 3, 4)),
    "a checksum does not fit": FILES | {"offsets/.4.crc": b"crc\0\0\0\x02\0\0\0\0\0"},
    "a checksum of initial offsets does not fit": FIRST | {"sources/0/.0.crc": b"crc\0\0\0\x02\0\0\0\0\0"},
}


def stated(read: Checkpoint) -> list[str]:
    """Return what says that the batch runs again: the reader, and the finding of a whole migration."""
    case = migration(checkpoint=read)
    return [
        *(each.message for each in read.problems if each.code == pending_batch.code),
        *(found.message for found in pending_batch(case)),
        *([read.restart] if "it runs again" in read.restart else []),
    ]


@with_cases("name", SPARK_DOES_NOT_START)
def test_a_batch_that_cannot_run_is_not_said_to_run_again(name: str) -> None:
    read = read_from(MemoryFolder(SPARK_DOES_NOT_START[name]))

    assert stated(read) == []
    assert not [each.fix for each in read.problems if "start the job" in each.fix]
    assert [each.code for each in read.problems if severity_of(each.code) is Severity.BLOCKS]


@with_cases("name", STARTS)
def test_a_batch_that_runs_again_is_said_to(name: str) -> None:
    assert len(stated(read_from(MemoryFolder(STARTS[name])))) == 3


ONE_MORE = '{"orders":{"0":180,"1":20,"2":7}}'
"""The ends of a pending batch that begins a partition."""
BEGINS_ONE = FILES | {"offsets/5": FILES["offsets/5"].replace(orders(180).encode(), ONE_MORE.encode())}
DAMAGE_BESIDE = {
    "the last commit is damaged": {"commits/4": b""},
    "the last commit is cut": {"commits/4": b"v1\n{"},
    "the id is damaged": {"metadata": b"{"},
    "the id is empty": {"metadata": b""},
    "its name has a zero too": {"offsets/006": b"v1\n{}"},
    "a partition left": {"offsets/4": FILES["offsets/4"].replace(b"}}", b'},"legacy":{"0":3}}')},
    "the cluster changed": {"offsets/4": FILES["offsets/4"].replace(b"150", b"950")},
}


@with_cases("name", DAMAGE_BESIDE)
def test_a_partition_that_it_begins_is_not_said_to_need_its_commit(name: str) -> None:
    problems = read_from(MemoryFolder(BEGINS_ONE | DAMAGE_BESIDE[name])).problems

    (begun,) = [each for each in problems if each.code == new_partition.code]
    assert "Let the batch commit" not in begun.fix
    assert begun.fix.startswith("Repair first what blocks")
    assert [each for each in problems if severity_of(each.code) is Severity.BLOCKS]


def test_a_partition_that_a_batch_begins_which_runs_again_is_committed_first() -> None:
    (begun,) = [each for each in read_from(MemoryFolder(BEGINS_ONE)).problems if each.code == new_partition.code]

    assert begun.fix.startswith("Let the batch commit on the old cluster first")


@with_cases("lost", [True, False])
def test_it_is_so_of_a_batch_of_kinesis(tmp_path: Path, *, lost: bool) -> None:
    folder = shutil.copytree(PENDING, tmp_path / "query")
    before = folder / "offsets" / "2"
    assert "start the job" in "".join(each.fix for each in read_checkpoint(str(folder)).problems)

    if lost:
        before.unlink()
    else:
        before.write_bytes(b"v1\n{")

    read = read_checkpoint(str(folder))
    assert stated(read) == []
    assert "start the job" not in "".join(each.fix for each in read.problems)
