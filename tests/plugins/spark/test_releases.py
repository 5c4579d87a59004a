"""What single releases of Spark refuse or leave behind, and the neighbours of each file that says so."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.discovery import find_checkpoints
from offsetwise.errors import NotACheckpointError
from offsetwise.model import Checkpoint
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.releases.flows import newest_of_flows, newest_version, superseded, version_of
from tests.plugins.spark.folders import SAMPLES, MemoryFolder, checkpoint, orders, sample_files, write
from tests.with_cases import with_cases

PIPELINE = SAMPLES.parent / "pipelines" / "spark-4.2.0"
FLOW = Path("_checkpoints/spark_catalog/default/orders_raw/orders_raw")
UNFINISHED = "spark-4.2.0-repartition-unfinished"


def read(files: dict[str, bytes]) -> Checkpoint:
    return read_from(MemoryFolder({path: data for path, data in files.items() if not path.endswith(".crc")}))


def codes(checkpoint: Checkpoint) -> list[str]:
    return [problem.code for problem in checkpoint.problems]


def offsets(first: int, *, version: int = 1, partitions: str | None = None, line: str | None = None) -> bytes:
    conf = "" if partitions is None else f'"spark.sql.shuffle.partitions":"{partitions}"'
    head = f'v{version}\n{{"batchWatermarkMs":0,"batchTimestampMs":1795229305292,"conf":{{{conf}}}}}\n'
    return (head + (line or ("0:" if version == 2 else "") + orders(first))).encode()


def test_initial_offsets_of_named_sources_are_not_guessed_where_the_log_has_no_names() -> None:
    files = {path: data for path, data in sample_files("spark-4.2.0-named-in-v1").items() if "commits/" not in path}
    found = read(files)
    assert not any(source.positions for source in found.sources)
    assert "does not tell which source began at the offsets of sources/orders_in/0" in found.restart


class TestARepartition:
    def test_that_is_unfinished_is_refused_and_is_no_pending_batch(self) -> None:
        found = read(sample_files(UNFINISHED))

        assert codes(found) == ["REPARTITION_UNFINISHED"]
        assert "with 3 shuffle partitions after 2" in found.problems[0].message

    def test_that_is_finished_is_a_batch_like_others(self) -> None:
        files = sample_files(UNFINISHED)

        assert codes(read(files | {"commits/2": files["commits/1"]})) == []

    @with_cases("version", [1, 2])
    @with_cases("before", [None, "2", "3"])
    @with_cases("after", [None, "2", "3"])
    def test_is_what_two_recorded_numbers_differ_by(self, version: int, before: str | None, after: str | None) -> None:
        planned = {
            0: offsets(1, version=version, partitions=before),
            1: offsets(2, version=version, partitions=after),
        }
        found = read(checkpoint(planned, (0,)))
        differs = before is not None and after is not None and before != after
        message = next((problem.message for problem in found.problems if problem.code == "PENDING_BATCH"), "")

        assert ("REPARTITION_UNFINISHED" in codes(found)) == differs
        assert ("PENDING_BATCH" in codes(found)) == (not differs)
        assert ("None.get" in message) == (version == 2 and None in (before, after))


class TestTheLogsVersion:
    @with_cases("last", [1, 2])
    @with_cases("before", [1, 2])
    def test_is_that_of_the_two_newest_files(self, last: int, before: int) -> None:
        planned = {0: offsets(1, version=before), 1: offsets(2, version=last)}
        found = read(checkpoint(planned, (0, 1)))

        assert codes(found) == (["OFFSET_LOG_V2"] if 2 in (last, before) else [])
        assert [position.offset for position in found.sources[0].positions] == [2, 20]

    @with_cases("committed", [True, False])
    def test_with_a_name_after_a_number_gives_no_start_to_a_pending_batch(self, *, committed: bool) -> None:
        planned = {0: offsets(1), 1: offsets(2, version=2, line=f"orders_in:{orders(2)}")}
        found = read(checkpoint(planned, (0, 1) if committed else (0,)))

        assert codes(found) == ["OFFSET_LOG_V2"] if committed else ["CHECKPOINT_DAMAGED", "OFFSET_LOG_V2"]
        assert [position.offset for position in found.sources[0].positions] == ([2, 20] if committed else [])

    @with_cases("name", ["v0", "v3", "v4", "v99", "v10000000000", "2", "V2", "", "vv2"])
    def test_that_is_unknown_says_what_was_expected_and_found(self, name: str) -> None:
        data = offsets(2).replace(b"v1", name.encode(), 1)
        found = read(checkpoint({0: orders(1), 1: data}, (0, 1)))

        assert codes(found) == ["CHECKPOINT_DAMAGED"]
        assert "expected" in found.problems[0].message
        assert f"found {name!r}" in found.problems[0].message or f"found {name}." in found.problems[0].message
        assert all(source.positions == () for source in found.sources)
        assert ("upgrade of Spark" in found.problems[0].fix) == (name in {"v3", "v4", "v99"})

    @with_cases("seed", range(60))
    def test_and_names_that_are_damaged_never_give_another_position(self, seed: int) -> None:
        random = Random(seed)
        files = sample_files("spark-4.2.0-named-sources")
        whole = {position.partition: position.offset for position in read(files).sources[0].positions}
        data = bytearray(files["offsets/1"])
        ends = data.rindex(b"\n")
        at = random.randrange(ends - 3, len(data) - 1)
        if random.random() < 0.5:
            del data[at:]
        else:
            data[at] = random.choice(b':{}\n\0\xff-,"')
        found = read(files | {"offsets/1": bytes(data)})

        for source in found.sources:
            for position in source.positions:
                assert position.offset == whole.get(position.partition) or codes(found) != ["OFFSET_LOG_V2"]


class TestAFlow:
    @pytest.fixture
    def flow(self, tmp_path: Path) -> Path:
        return shutil.copytree(PIPELINE, tmp_path / "storage") / FLOW

    @with_cases("below", [0, 1, 3, 5])
    def test_is_found_from_every_folder_above_it(self, flow: Path, below: int) -> None:
        root = flow.parents[4 - below] if below < 5 else flow

        assert find_checkpoints(str(root)).uris == (str(flow / "0"),)

    def test_has_one_version_that_lives(self, flow: Path) -> None:
        for version in ("1", "2", "10"):
            shutil.copytree(flow / "0", flow / version)

        assert find_checkpoints(str(flow.parents[4])).uris == (str(flow / "10"),)
        assert codes(read_checkpoint(str(flow / "10"))) == []
        assert codes(read_checkpoint(str(flow / "2"))) == ["CHECKPOINT_SUPERSEDED"]
        with pytest.raises(NotACheckpointError, match="flow \\(versions 0, 1, 2, 10\\)") as caught:
            read_checkpoint(str(flow))
        assert caught.value.fix.endswith(f"{flow}/10.")

    def test_with_an_empty_newest_version_goes_on_from_none(self, flow: Path) -> None:
        (flow / "1").mkdir()

        assert find_checkpoints(str(flow.parents[4])).uris == (str(flow / "0"),)
        assert codes(read_checkpoint(str(flow / "0"))) == ["CHECKPOINT_SUPERSEDED"]
        with pytest.raises(NotACheckpointError, match="an empty folder"):
            read_checkpoint(str(flow / "1"))

    def test_with_a_half_written_newest_version_is_read_there(self, flow: Path) -> None:
        (flow / "1" / "offsets").mkdir(parents=True)

        assert find_checkpoints(str(flow.parents[4])).uris == (str(flow / "1"),)
        assert codes(read_checkpoint(str(flow / "1"))) == ["CHECKPOINT_DAMAGED", "CHECKPOINT_DAMAGED"]

    @with_cases("name", ["tmp", "-1", "1.5", "99999999999", "1e3", "_1", "1 ", "²"])
    def test_ignores_names_that_are_no_versions(self, flow: Path, name: str) -> None:
        shutil.copytree(flow / "0", flow / name)

        assert codes(read_checkpoint(str(flow / "0"))) == []
        assert version_of(name) is None

    def test_is_below_the_folder_of_a_pipeline_only(self, tmp_path: Path) -> None:
        for version in ("0", "1"):
            write(checkpoint({0: orders(1)}, (0,)), tmp_path / "jobs" / version)

        assert len(find_checkpoints(str(tmp_path)).uris) == 2
        assert codes(read_checkpoint(str(tmp_path / "jobs" / "0"))) == []
        assert superseded(str(tmp_path / "jobs" / "0"), roots=None) == ()

    def test_that_cannot_be_listed_hides_nothing_else(self, flow: Path) -> None:
        shutil.copytree(flow / "0", flow / "1")

        assert codes(read_checkpoint(str(flow / "0"), roots=(str(flow / "0"),))) == []

    @with_cases("seed", range(40))
    def test_of_many_versions_keeps_the_highest(self, seed: int) -> None:
        random = Random(seed)
        names = [str(number) for number in random.sample(range(2000), random.randint(1, 12))]
        uris = [f"s3://bucket/_checkpoints/db/t{at % 3}/flow/{name}" for at, name in enumerate(names)]
        random.shuffle(uris)
        by_flow = {uri.rpartition("/")[0]: 0 for uri in uris}
        for uri in uris:
            by_flow[uri.rpartition("/")[0]] = max(by_flow[uri.rpartition("/")[0]], int(uri.rpartition("/")[2]))

        assert sorted(newest_of_flows([*uris, "/a/7"])) == sorted(["/a/7", *(f"{k}/{v}" for k, v in by_flow.items())])
        assert newest_version(names) == str(max(map(int, names)))
