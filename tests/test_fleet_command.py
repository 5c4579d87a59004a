"""`offsetwise fleet`: a line for each checkpoint as `inspect` prints it, and what they come to together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import jsonschema
import pyarrow.parquet as pq
import pytest

import offsetwise as ow
from offsetwise.cli import documents
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.fleets import FleetCount, FleetRow
from offsetwise.workflow import checkpoints
from tests.commands import COMMAND, Ran, call
from tests.console import fleets
from tests.pipeline.standalone import standalone_master
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.with_cases import with_cases

KCL: Final = SAMPLES.parent / "kinesis" / "kcl" / "2.7.2-merged.json"
MANY: Final = 10_000
MOST_MIB: Final = 1_024


def lines(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """A checkpoint that restarts, a copy of it, and a folder that is none."""
    files = checkpoint({0: orders(7)}, (0,))
    (tmp_path / "empty").mkdir()
    return [write(files, tmp_path / "a"), write(files, tmp_path / "b"), tmp_path / "empty"]


def test_the_lines_are_those_of_inspect_and_the_last_one_sums_them_up(three: list[Path]) -> None:
    ran = call("fleet", *three, "--json")

    *rows, summary = lines(ran)
    assert ran.code == 1, "one could not be read"
    inspected = call("inspect", *three, "--batches", "2", "--json")
    assert rows == lines(inspected)
    jsonschema.validate(summary, documents.schema("fleet"))
    job_id = rows[0]["job_id"]
    assert summary == {
        "format": "offsetwise/fleet",
        "format_version": "1.0",
        "checkpoints": 3,
        "partitions": 4,
        "verdicts": {"unreadable": 1, "restartable": 2},
        "problems": {"NotACheckpointError": 1},
        "same_query": [{"job_id": job_id, "uris": [str(path) for path in three[:2]]}],
    }


def test_people_read_a_line_each_and_what_they_come_to(three: list[Path]) -> None:
    ran = call("fleet", *three)

    assert ran.out.splitlines()[:3] == [
        f"restartable: {three[0]} (spark, 2 partitions)",
        f"restartable: {three[1]} (spark, 2 partitions)",
        "3 checkpoints with 4 positions: 1 unreadable, 2 restartable.",
    ]
    assert "2 checkpoints carry the query id " in ran.out
    assert f": {three[0]}, {three[1]}. Start one only." in ran.out
    assert f"{three[2]}: expected" in ran.err


def test_the_exit_code_says_whether_a_problem_blocks(tmp_path: Path, three: list[Path]) -> None:
    lost = write(checkpoint({0: orders(7), 2: orders(9)}, (0, 2)), tmp_path / "lost")

    assert call("fleet", *three[:2], "--detailed-exitcode").code == 0
    assert call("fleet", three[0], lost).code == 0
    assert call("fleet", three[0], lost, "--detailed-exitcode").code == 2


def test_parquet_has_a_row_each_with_positions_of_every_engine(tmp_path: Path, three: list[Path]) -> None:
    flink, file = SAMPLES / "flink-1.20", tmp_path / "fleet.parquet"
    for uris in ([three[0], flink, KCL], [three[2], three[0]]):
        ran = call("fleet", *uris, "--parquet", file)
        rows = pq.read_table(file).to_pylist()
        read = list(ow.inspect([str(uri) for uri in uris], batches=0))
        file.unlink()

        assert [row["uri"] for row in rows] == [each.uri for each in read]
        for row, each in zip(rows, read, strict=True):
            if isinstance(each, FailedCheckpoint):
                problem = {"code": each.error, "message": each.problem, "fix": each.fix}
                assert (row["engine"], row["partitions"], row["positions"]) == (None, None, [])
                assert row["problems"] == [problem]
                continue
            expected = [(at.topic, at.partition, None, at.offset) for source in each.sources for at in source.positions]
            shards = [(at.stream, None, at.shard, str(at.position)) for source in each.sources for at in source.shards]
            assert [
                (at["topic"], at["partition"], at["shard"], at["position"] if at["offset"] is None else at["offset"])
                for at in row["positions"]
            ] == expected + shards
            assert all(at["offset"] is None or at["position"] == str(at["offset"]) for at in row["positions"])
            assert (row["engine"], row["job_id"], row["restart"]) == (each.engine, each.job_id, each.restart)
            assert [problem["code"] for problem in row["problems"]] == [problem.code for problem in each.problems]
        assert str(file) not in ran.err


def test_a_parquet_file_that_exists_is_refused_before_anything_is_read(tmp_path: Path, three: list[Path]) -> None:
    (tmp_path / "fleet.parquet").touch()

    error = call("fleet", *three, "--parquet", tmp_path / "fleet.parquet", "--json").refused()

    assert "something of that name exists" in error["problem"]


def test_the_library_answers_what_the_command_prints(tmp_path: Path, three: list[Path]) -> None:
    rows: list[ow.FleetRow] = []

    summary = ow.fleet([f"{tmp_path}/*"], parquet=tmp_path / "library.parquet", heard=rows.append)

    printed = call("fleet", f"{tmp_path}/*", "--json", "--parquet", tmp_path / "command.parquet")
    assert [row.uri for row in rows] == list(map(str, three))
    assert "".join(row.json_line() for row in rows) + documents.dump(summary, indent=None) == printed.out
    written = (tmp_path / name for name in ("library.parquet", "command.parquet"))
    assert len({path.read_bytes() for path in written}) == 1


def test_all_checkpoints_of_a_migration_are_those_it_names_and_those_below_its_roots(
    tmp_path: Path, three: list[Path]
) -> None:
    roots, named = [str(tmp_path), f"{tmp_path}/absent"], {"orders": str(three[1])}
    migration = ow.Migration.load(fleets.write_migration(tmp_path, roots=roots, checkpoints=named))

    fleet = migration.fleet(parquet=tmp_path / "fleet.parquet")

    assert [(row.uri, row.names) for row in fleet.rows] == [(str(three[1]), ("orders",)), (str(three[0]), ())]
    assert [trouble.root for trouble in fleet.troubles] == roots[1:]
    assert fleet.summary() == ow.fleet([row.uri for row in fleet.rows])
    assert pq.read_table(tmp_path / "fleet.parquet")["uri"].to_pylist() == [row.uri for row in fleet.rows]


@with_cases(
    ("uris", "parquet", "error", "problem"),
    [
        pytest.param([], "new", ow.UsageError, "a list of one or more paths", id="no-path"),
        pytest.param("*", "new", ow.UsageError, "a list of one or more paths", id="text"),
        pytest.param(["*", "none-*"], "new", ow.StorageError, "a pattern that matches folders", id="empty-glob"),
        pytest.param(["*"], "there", ow.FileError, "something of that name exists", id="parquet-exists"),
        pytest.param(["*"], "absent/new", ow.FileError, "there is no folder", id="no-folder"),
    ],
)
def test_bad_input_is_refused_before_spark_starts(
    uris: list[str] | str,
    parquet: str,
    error: type[ow.OffsetwiseError],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in "abcd":
        write(checkpoint({0: orders(7)}, (0,)), tmp_path / name)
    (tmp_path / "there").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checkpoints, "start_spark", lambda *_: pytest.fail("Spark was started"))

    with pytest.raises(error, match=problem):
        ow.fleet(uris, parquet=parquet, heard=lambda row: pytest.fail(f"{row.uri} was read"))
    assert not (tmp_path / "new").exists()
    if isinstance(uris, list) and uris:
        ran = call("fleet", *uris, "--parquet", parquet, "--json")
        assert problem in ran.refused()["problem"]


def test_a_parquet_file_that_exists_is_refused_before_a_migration_is_read(tmp_path: Path, three: list[Path]) -> None:
    path = fleets.write_migration(tmp_path, roots=[str(tmp_path)], checkpoints={"orders": str(three[0])})

    with pytest.raises(ow.FileError, match="something of that name exists"):
        ow.Migration.load(path).fleet(parquet=path, progress=lambda *_: pytest.fail("it was read"))


def test_what_is_counted_does_not_depend_on_the_order() -> None:
    read = list(ow.inspect([str(SAMPLES / name) for name in ("spark-3.5.1-planned", "flink-1.20")], batches=0))
    forwards, backwards = FleetCount(), FleetCount()
    for row in read:
        forwards.add(FleetRow(read=row))
    for row in reversed(read):
        backwards.add(FleetRow(read=row))

    assert forwards.summary() == backwards.summary()


# ------------------------------------------------------------------------------------------ ten thousand on a cluster


def many(folder: Path) -> None:
    """Write ten thousand checkpoints, two of them of one query; all but their ids are hard links."""
    first = write(checkpoint({0: orders(7)}, (0,)), folder / "first")
    files = [path.relative_to(first) for path in sorted(first.rglob("*")) if path.is_file()]
    for number in range(MANY):
        at = folder / "fleet" / f"c{number:05}"
        for path in files:
            (at / path).parent.mkdir(parents=True, exist_ok=True)
            if path.name != "metadata":
                os.link(first / path, at / path)
        job_id = f"00000000-0000-4000-8000-{max(number, 1):012}"
        (at / "metadata").write_text(json.dumps({"id": job_id}), encoding="utf-8")


def peak_mib(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process; return the most memory that it and its children took, each at its own peak."""
    peaks: dict[int, int] = {}
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for pid in (process.pid, *map(int, children.read_text().split() if children.exists() else ())):
            try:
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            except OSError:
                continue
            found = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
            peaks[pid] = int(found.split()[1])
        time.sleep(0.05)
    return sum(peaks.values()) >> 10


@pytest.mark.gates
@pytest.mark.proof
def test_ten_thousand_are_read_on_a_standalone_cluster_in_a_bounded_driver(tmp_path: Path, figure: Any) -> None:
    many(tmp_path)
    with standalone_master(workers=2) as master:
        migration, conf, out = (tmp_path / name for name in ("m.yaml", "spark.conf", "out.jsonl"))
        clusters = (
            "source: {properties: {bootstrap.servers: 'a:1'}}\ntarget: {properties: {bootstrap.servers: 'b:1'}}\n"
        )
        migration.write_text(f"name: m\n{clusters}spark: {{master: '{master}'}}\n", encoding="utf-8")
        conf.write_text(
            "spark.driver.host 127.0.0.1\nspark.driver.memory 512m\n",
            encoding="utf-8",
        )
        own = {"PYSPARK_PYTHON": sys.executable, "OFFSETWISE_SPARK_SERVERS": master, "OFFSETWISE_SPARK_CONF": str(conf)}
        command = [COMMAND, "fleet", f"{tmp_path}/fleet/*", "--json", "-m", migration]
        begun = time.monotonic()
        with out.open("wb") as stdout:
            process = subprocess.Popen(
                [*map(str, command), "--parquet", str(tmp_path / "fleet.parquet")],
                env={**os.environ, **own},
                stdout=stdout,
                stderr=subprocess.PIPE,
            )
            peak = peak_mib(process)
        assert process.stderr is not None
        assert process.returncode == 0, process.stderr.read()
        process.stderr.close()
        took_s = time.monotonic() - begun

    *rows, summary = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["uri"] for row in rows] == [f"{tmp_path}/fleet/c{number:05}" for number in range(MANY)]
    assert {row["sources"][0]["positions"][0]["offset"] for row in rows} == {"7"}
    assert (summary["checkpoints"], summary["verdicts"]) == (MANY, {"restartable": MANY})
    assert summary["same_query"] == [
        {"job_id": f"00000000-0000-4000-8000-{1:012}", "uris": [f"{tmp_path}/fleet/c0000{number}" for number in (0, 1)]}
    ]
    assert pq.read_metadata(tmp_path / "fleet.parquet").num_rows == MANY
    figure(f"10,000 checkpoints on a standalone cluster: {took_s:.0f} s, driver {peak} MiB")
    assert peak <= MOST_MIB
