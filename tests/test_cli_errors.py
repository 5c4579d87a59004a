"""Bad input at the command line: what, expected, found, effect and the next step; exit code 1; never a traceback."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import offsetwise
from tests.commands import COMMAND, Ran, call, run
from tests.plugins.kinesis.test_checkpoints import DATA as KINESIS
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample"
EFFECT = ("Nothing was", "No position was", "No record was", "so everything would be compared with itself")
UNMAPPABLE = {"broker.address.family": "v4"}
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the bundled sample: migration.yaml, checkpoints/, old.json and new.json."""
    return shutil.copytree(SAMPLE, tmp_path / "sample")


def edit(path: Path, change: Change) -> None:
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(body) if path.suffix == ".json" else yaml.safe_dump(body), encoding="utf-8")


def compare(sample: Path, *, checkpoint: str = "orders") -> Ran:
    return call(
        *("compare", "-m", str(sample / "migration.yaml"), "--checkpoint", checkpoint, "--json"),
        *("--snapshots", str(sample / "old.json"), str(sample / "new.json")),
    )


def refused(ran: Ran, error: str, *told: str) -> None:
    found = ran.refused()
    assert found["error"] == error, found
    for text in told:
        assert text in f"{found['problem']} {found['fix']}"
    assert any(effect in found["problem"] for effect in EFFECT), found["problem"]
    assert found["fix"]


@with_cases(
    ("arguments", "told"),
    [
        (["nope"], "offsetwise: No such command 'nope'"),
        (["inspect"], "offsetwise inspect: Missing argument 'URI...'"),
        (["inspect", "--batches", "none", "x"], "--batches"),
        (["inspect", "--batches", "0", "x"], "--batches"),
        (["compare", "--checkpoint", "orders"], "Missing option '--migration'"),
        (["compare", "--nope"], "No such option: --nope"),
        (["compare", "-m", "x", "--snapshots"], "requires 2 arguments"),
        (["snapshot", "--cluster", "third", "--out", "x", "-m", "m"], "'third'"),
        (["lab", "sideways"], "offsetwise lab: No such command 'sideways'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_line_that_cannot_be_understood_does_nothing(arguments: list[str], told: str) -> None:
    refused(call(*arguments, "--json"), "UsageError", told, "Nothing was done.", "--help")

    plain = call(*arguments)
    assert (plain.code, plain.out) == (1, "")
    assert told in plain.err


def test_without_a_command_the_help_is_shown() -> None:
    ran = run()

    assert (ran.code, ran.err) == (1, "")
    assert "Usage: offsetwise" in ran.out


def test_an_unknown_kind_of_schema_lists_the_known_ones() -> None:
    refused(
        call("schema", "nope", "--json"),
        "ConfigError",
        "'nope'",
        "migration, checkpoint, snapshot, sink-snapshot, comparison",
    )


class TestAPath:
    @with_cases(
        ("make", "error", "told"),
        [
            (lambda _: None, "MissingError", "found nothing"),
            (lambda path: path.mkdir(), "NotACheckpointError", "an empty folder"),
            (lambda path: path.write_text("x"), "NotACheckpointError", "file"),
            (
                lambda path: write({"_delta_log/00000000000000000000.json": b"{}", "part-0.parquet": b""}, path),
                "NotACheckpointError",
                "a Delta table",
            ),
            (lambda path: write({"_metadata": b"\x49\x60\x67\xf2"}, path), "NotACheckpointError", "a Flink savepoint"),
        ],
        ids=["missing", "empty", "file", "delta", "flink"],
    )
    def test_that_is_no_checkpoint_is_named_for_what_it_is(
        self, make: Callable[[Path], object], error: str, told: str, sample: Path
    ) -> None:
        path = sample / "checkpoints" / "orders"
        shutil.rmtree(path)
        make(path)

        refused(call("inspect", path, "--json"), error, told, str(path))
        refused(compare(sample), error, told, str(path))

    def test_that_no_library_reads_names_the_library_or_the_scheme(self) -> None:
        refused(call("inspect", "gopher://bucket/x", "--json"), "StorageError", "gopher")

    def test_outside_the_roots_is_not_read_from_a_migration_file(self, sample: Path, tmp_path: Path) -> None:
        outside = shutil.copytree(sample / "checkpoints" / "orders", tmp_path / "elsewhere")
        edit(sample / "migration.yaml", lambda body: body["checkpoints"][0].update(uri=str(outside)))

        refused(compare(sample), "OutsideRootsError", str(outside))
        assert call("inspect", outside, "--json").answered()["uri"] == str(outside)

    def test_that_leaves_the_roots_through_a_link_is_not_read(self, sample: Path, tmp_path: Path) -> None:
        (sample / "checkpoints" / "orders").rename(tmp_path / "elsewhere")
        (sample / "checkpoints" / "orders").symlink_to(tmp_path / "elsewhere")

        refused(compare(sample), "OutsideRootsError")

    def test_given_as_a_pattern_that_matches_nothing_is_said(self, tmp_path: Path) -> None:
        refused(call("inspect", f"{tmp_path}/*", "--json"), "StorageError", "quote it")


@with_cases(
    ("damage", "told"),
    [
        ({"offsets/7": b'v1\n{"batchWatermarkMs":0}\n{"orders":{"0":11'}, "garbled"),
        ({"offsets/7": b"v9\n{}\n" + orders(7).encode()}, "v9"),
        ({"offsets/6": None, "offsets/.6.crc": None}, "offsets/6 is missing"),
        ({"offsets/.7.crc": b"crc\0\0\0\2\0\0\0\0\0"}, "crc"),
        ({"metadata": b"{"}, "metadata"),
        ({"offsets/7": b"", "offsets/.7.crc": None}, "offsets/7"),
    ],
    ids=["truncated", "unknown version", "batch missing", "stale crc", "garbled metadata", "empty"],
)
def test_a_damaged_checkpoint_is_shown_with_its_damage_and_never_with_a_wrong_number(
    damage: dict[str, bytes | None], told: str, sample: Path
) -> None:
    folder = sample / "checkpoints" / "orders"
    right = call("inspect", folder, "--json").answered()
    for name, data in damage.items():
        if data is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(data)

    body = call("inspect", folder, "--json").answered()
    assert any(told in problem["message"] and problem["fix"] for problem in body["problems"]), body["problems"]
    known = {(p["topic"], p["partition"]): p["offset"] for s in right["sources"] for p in s["positions"]}
    for source in body["sources"]:
        for position in source["positions"]:
            assert position["offset"] == known[position["topic"], position["partition"]]

    ran = compare(sample)
    if any(source["positions"] for source in body["sources"]):
        assert "CHECKPOINT_DAMAGED" in {finding["code"] for finding in ran.answered()["findings"]}
    else:
        refused(ran, "CheckpointError", "expected positions of Kafka", "offsetwise inspect")


def test_a_checkpoint_without_kafka_positions_cannot_be_compared(sample: Path) -> None:
    folder = sample / "checkpoints" / "orders"
    shutil.rmtree(folder)
    write(checkpoint({0: '{"value":7}'}, (0,), initial={}), folder)

    refused(compare(sample), "CheckpointError", "it has no Kafka source", "Nothing was compared.")


def test_a_checkpoint_of_another_stream_cannot_be_compared(sample: Path) -> None:
    folder = sample / "checkpoints" / "orders"
    shutil.rmtree(folder)
    shutil.copytree(KINESIS / "spark" / "qubole-1.2.0-committed", folder)

    refused(compare(sample), "CheckpointError", "it has no Kafka source", "Nothing was compared.")


def test_a_checkpoint_of_topics_without_partitions_cannot_be_compared(sample: Path) -> None:
    folder = sample / "checkpoints" / "orders"
    shutil.rmtree(folder)
    write(checkpoint({0: '{"orders":{}}'}, (0,), initial={}), folder)

    refused(compare(sample), "CheckpointError", "its Kafka source holds no partition yet", "Nothing was compared.")


class TestAMigrationFile:
    @with_cases(
        ("change", "error", "told"),
        [
            (lambda body: body.update(sources={}), "ConfigError", "sources"),
            (lambda body: body.pop("target"), "ConfigError", "target"),
            (
                lambda body: body["source"]["properties"].update({"plugin.library.paths": "x.so"}),
                "ForbiddenPropertyError",
                "plugin.library.paths",
            ),
            (
                lambda body: body["target"]["properties"].update(body["source"]["properties"]),
                "ConfigError",
                "bootstrap.servers of both",
            ),
            (
                lambda body: body["source"]["properties"].update({"sasl.password": "hunter2"}),
                "ConfigError",
                "sasl.password",
            ),
        ],
        ids=["unknown key", "no target", "forbidden property", "one cluster", "plain secret"],
    )
    def test_that_cannot_be_used_is_refused_before_anything_is_read(
        self, change: Change, error: str, told: str, sample: Path
    ) -> None:
        edit(sample / "migration.yaml", change)
        ran = compare(sample)

        found = ran.refused()
        assert (found["error"] == error, told in found["problem"]) == (True, True), found
        assert str(sample / "migration.yaml") in found["problem"]
        assert "hunter2" not in ran.out + ran.err

    def test_that_cannot_be_used_keeps_the_console_from_starting(self, sample: Path) -> None:
        edit(sample / "migration.yaml", lambda body: body["source"]["properties"].update({"sasl.password": "hunter2"}))
        ran = run("console", "--migration", sample / "migration.yaml", STREAMLIT_SERVER_HEADLESS="true")

        assert (ran.code, ran.out) == (1, ""), "Streamlit says where it listens, and did not start"
        assert ran.err.startswith(f"error {sample / 'migration.yaml'}: ")
        assert "sasl.password" in ran.err
        assert "\nnext " in ran.err
        assert "hunter2" not in ran.err

    def test_that_is_missing_is_said(self) -> None:
        refused(call("compare", "-m", "/nowhere.yaml", "--checkpoint", "x", "--json"), "ConfigError", "/nowhere.yaml")

    def test_that_names_no_such_checkpoint_lists_those_it_names(self, sample: Path) -> None:
        found = compare(sample, checkpoint="oders").refused()

        assert "'oders'" in found["problem"]
        assert "orders, payments" in found["problem"]

    def test_is_compared_for_a_checkpoint_or_a_group(self, sample: Path) -> None:
        ran = call("compare", "-m", sample / "migration.yaml", "--json")

        refused(ran, "ConfigError", "either a checkpoint or a group", "Nothing was read.")


class TestASnapshot:
    @with_cases(
        ("change", "error", "told"),
        [
            (lambda path: path.write_text("{"), "FileError", "old.json"),
            (lambda path: path.unlink(), "FileError", "No such file"),
            (lambda path: edit(path, lambda body: body.update(format_version="2.0")), "VersionError", "version 2.0"),
            (
                lambda path: edit(path, lambda body: body.update(format="offsetwise/comparison")),
                "VersionError",
                "found 'offsetwise/comparison'",
            ),
            (lambda path: edit(path, lambda body: body.update(taken_at=7)), "FileError", "taken_at"),
            (lambda path: path.write_text('{"format": 1.5}'), "FileError", "1.5"),
        ],
        ids=["no JSON", "missing", "later major version", "another kind", "another type", "a float"],
    )
    def test_that_cannot_be_read_is_refused_naming_the_file(
        self, change: Callable[[Path], object], error: str, told: str, sample: Path
    ) -> None:
        change(sample / "old.json")

        refused(compare(sample), error, str(sample / "old.json"), told)

    def test_of_the_other_cluster_is_refused(self, sample: Path) -> None:
        (sample / "old.json").rename(sample / "swapped.json")
        (sample / "new.json").rename(sample / "old.json")
        (sample / "swapped.json").rename(sample / "new.json")

        refused(
            compare(sample),
            "FileError",
            "expected a snapshot of the old cluster, found one of the new",
            "old cluster's",
        )

    def test_of_the_same_cluster_as_the_other_is_refused(self, sample: Path) -> None:
        old = json.loads((sample / "old.json").read_text(encoding="utf-8"))
        edit(sample / "new.json", lambda body: body.update(cluster_id=old["cluster_id"]))

        refused(compare(sample), "SameClusterError", repr(old["cluster_id"]), "bootstrap.servers")

    def test_without_the_group_is_refused(self, sample: Path) -> None:
        ran = call(
            *("compare", "-m", sample / "migration.yaml", "--group", "nobody", "--json"),
            *("--snapshots", sample / "old.json", sample / "new.json"),
        )

        refused(ran, "ClusterError", "Group 'nobody'", "it has committed nothing", "Nothing was compared.")

    def test_that_exists_is_never_written_over(self, sample: Path) -> None:
        before = (sample / "old.json").read_bytes()

        ran = call(
            *("snapshot", "-m", sample / "migration.yaml", "--cluster", "old"),
            *("--out", sample / "old.json", "--json"),
        )

        refused(ran, "FileError", "expected to write a new file", "Nothing was written.")
        assert (sample / "old.json").read_bytes() == before


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A port where connections are accepted and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def at_port(sample: Path, port: int) -> Path:
    servers = {"bootstrap.servers": f"127.0.0.1:{port}"}
    edit(sample / "migration.yaml", lambda body: body["source"].update(properties=servers))
    return sample / "migration.yaml"


def test_a_broker_that_is_down_is_named_within_seconds(sample: Path, silent: socket.socket) -> None:
    port = silent.getsockname()[1]
    silent.close()

    began = time.monotonic()
    ran = call("compare", "-m", at_port(sample, port), "--checkpoint", "orders", "--json")

    refused(ran, "ClusterUnreachableError", "'old'", f"127.0.0.1:{port}")
    assert time.monotonic() - began < 30


class TestWhatSparkCannotBeTold:
    """Spark reads with the Java client: what that has no equal for is refused before anything is contacted."""

    @pytest.fixture(params=["source", "target"])
    def migration(self, request: pytest.FixtureRequest, sample: Path, silent: socket.socket) -> Path:
        properties = {"bootstrap.servers": f"127.0.0.1:{silent.getsockname()[1]}"}
        edit(sample / "migration.yaml", lambda body: body["source"].update(properties=properties))
        edit(sample / "migration.yaml", lambda body: body[request.param]["properties"].update(UNMAPPABLE))
        return sample / "migration.yaml"

    @with_cases(
        "arguments",
        [("compare", "--checkpoint", "orders"), ("compare", "--group", "g"), ("reconcile", "--topic", "orders")],
        ids=" ".join,
    )
    def test_is_an_error_before_anything_is_read(
        self, arguments: tuple[str, ...], migration: Path, silent: socket.socket
    ) -> None:
        shutil.rmtree(migration.parent / "checkpoints")
        silent.setblocking(False)

        ran = call(*arguments, "-m", migration, "--json")

        refused(ran, "ConfigError", "broker.address.family", "the Java client, which has no equal", "Nothing was read.")
        with pytest.raises(BlockingIOError):
            silent.accept()

    def test_is_no_error_where_spark_reads_nothing(self, migration: Path) -> None:
        assert compare(migration.parent).code == 0
        assert (
            "broker.address.family" not in call("compare", "-m", migration, "--checkpoint", "none", "--no-content").err
        )


class TestWithoutJava:
    @pytest.fixture(autouse=True)
    def _no_java(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)

    def test_the_lab_says_what_to_install(self, tmp_path: Path) -> None:
        ran = run("lab", "up", "--dir", tmp_path / "lab")

        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("error The lab needs Java 17 or newer, found none on the PATH")
        assert "Nothing was started." in ran.err

    def test_many_checkpoints_cannot_be_read_and_that_is_said(self) -> None:
        refused(run("inspect", SAMPLES / "spark-4.2.0-*", "--json"), "SparkError", "Java 17", "No record was read.")


def test_an_interrupt_ends_with_a_word_and_without_a_traceback(sample: Path, silent: socket.socket) -> None:
    migration = at_port(sample, silent.getsockname()[1])
    with subprocess.Popen(
        [COMMAND, "compare", "-m", str(migration), "--checkpoint", "orders", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        silent.settimeout(30)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (1, "", "Stopped before the end.\n")


def test_an_interrupt_while_spark_starts_leaves_no_java_behind() -> None:
    with subprocess.Popen(
        [COMMAND, "inspect", *map(str, SAMPLES.glob("spark-4.*")), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        java = _wait_for_java(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (1, "", "Stopped before the end.\n")
    assert not Path("/proc", java).exists()


def _wait_for_java(process: subprocess.Popen[str]) -> str:
    while process.poll() is None:
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split():
            if Path("/proc", child, "comm").read_text(encoding="ascii").strip() == "java":
                return child
        time.sleep(0.05)
    raise AssertionError("it ended before it started Java")


class TestAnExceptionNobodyExpected:
    @pytest.fixture(autouse=True)
    def _defect(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def inspect(*_: object, **__: object) -> None:
            raise ZeroDivisionError("password=hunter2")

        monkeypatch.setattr(offsetwise, "inspect", inspect)

    def test_asks_to_be_reported_by_its_type_and_place_and_repeats_no_text(self) -> None:
        ran = call("inspect", "x", "--json")

        found = ran.refused()
        assert found["error"] == "OffsetwiseError"
        assert "ZeroDivisionError was raised at compare.py:" in found["problem"]
        assert "Report it" in found["fix"]
        assert "hunter2" not in ran.out + ran.err

    def test_shows_its_traceback_only_when_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OFFSETWISE_DEBUG", "1")
        ran = call("inspect", "x")

        assert ran.code == 1
        assert "Traceback (most recent call last)" in ran.err
        assert "ZeroDivisionError: password=hunter2" in ran.err
