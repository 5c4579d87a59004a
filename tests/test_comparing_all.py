"""Many jobs compared by one command: rows, files, what is kept and what is made again. No cluster, no Spark."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml

import offsetwise as ow
from offsetwise import files, new_files
from offsetwise.cli import documents
from offsetwise.model import SubjectKind
from offsetwise.workflow import WantedJob
from offsetwise.workflow.comparing_all import file_name
from tests.commands import Ran, call
from tests.with_cases import with_cases

SAMPLE = Path(ow.__file__).parent / "sample"
JOBS = ["checkpoint orders", "checkpoint payments", "group orders-etl"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample, with snapshots that were taken just now."""
    for name in ("migration.yaml", "checkpoints", "old.json", "new.json"):
        copy = shutil.copytree if (SAMPLE / name).is_dir() else shutil.copy
        copy(SAMPLE / name, tmp_path / name)
    taken(tmp_path, datetime.now(UTC))
    return tmp_path


def taken(folder: Path, at: datetime) -> None:
    for side in ("old", "new"):
        change(folder / f"{side}.json", taken_at=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def change(path: Path, **keys: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | keys), encoding="utf-8")


def add(folder: Path, **keys: Any) -> None:
    path = folder / "migration.yaml"
    path.write_text(
        yaml.safe_dump(yaml.safe_load(path.read_text(encoding="utf-8")) | keys, sort_keys=False), encoding="utf-8"
    )


def compare(folder: Path, *more: str | Path) -> Ran:
    return call(
        *("compare", "-m", folder / "migration.yaml", "--snapshots", folder / "old.json", folder / "new.json", *more)
    )


def summary(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    jsonschema.validate(body, files.schema("fleet-comparison"))
    files.load((folder / "out" / "summary.json").read_bytes(), "fleet-comparison", subject="summary")
    return body


def reused(folder: Path) -> list[bool]:
    assert compare(folder, "--all", "--out", folder / "out").code == 0
    return [job["reused"] for job in summary(folder)["jobs"]]


def names(job: dict[str, Any]) -> str:
    return f"group {job['group']}" if job["checkpoint"] is None else f"checkpoint {job['checkpoint']}"


class TestParquet:
    def test_has_a_row_for_each_partition_of_each_job(self, folder: Path) -> None:
        ran = compare(folder, "--all", "--json", "--parquet", folder / "all.parquet")

        rows = pq.read_table(folder / "all.parquet").to_pylist()
        expected = [
            (
                *(line["job"], row["source"], row["topic"], row["partition"], row["new_topic"], row["exactness"]),
                *(row["old_offset"], row["new_offset"], row["lag_old"], row["raw"]["verdict"], row["findings"]),
            )
            for line in map(json.loads, ran.out.splitlines())
            for row in line["partitions"]
        ]
        assert [
            (
                *(row["job"], row["source"], row["topic"], row["partition"], row["new_topic"], row["exactness"]),
                *(row["old_position"], row["new_position"], str(row["lag_old"]), row["raw_verdict"], row["findings"]),
            )
            for row in rows
        ] == expected
        assert [(str(row["old_offset"]), str(row["new_offset"])) for row in rows] == [
            (row["old_position"], row["new_position"]) for row in rows
        ]
        one = compare(folder, "--group", "orders-etl", "--parquet", folder / "one.parquet")
        assert one.code == 0
        assert pq.read_table(folder / "one.parquet").to_pylist() == rows[-2:]

    def test_of_streams_whose_positions_are_no_integers_has_their_texts(self, tmp_path: Path) -> None:
        shutil.copytree(SAMPLE.with_name("sample_kinesis"), tmp_path / "kinesis")

        ran = compare(tmp_path / "kinesis", "--all", "--json", "--parquet", tmp_path / "k.parquet")

        rows = pq.read_table(tmp_path / "k.parquet").to_pylist()
        given = [row["old_offset"] for line in map(json.loads, ran.out.splitlines()) for row in line["partitions"]]
        assert [row["old_position"] for row in rows] == given
        assert [row["old_offset"] for row in rows] == [None] * len(rows)
        assert any(given)

    def test_that_exists_is_refused_before_anything_is_read(self, folder: Path) -> None:
        (folder / "there").touch()
        shutil.rmtree(folder / "checkpoints")

        error = compare(folder, "--all", "--json", "--parquet", folder / "there").refused()

        assert error["error"] == "FileError"
        assert (folder / "there").read_bytes() == b""


class TestRows:
    def test_are_what_comparing_each_job_alone_gives(self, folder: Path) -> None:
        ran = compare(folder, "--all", "--json")

        assert ran.code == 0
        lines = [json.loads(line) for line in ran.out.splitlines()]
        assert [line.pop("job") for line in lines] == JOBS
        for line, job in zip(lines, JOBS, strict=True):
            kind, _, name = job.partition(" ")
            assert line == compare(folder, f"--{kind}", name, "--json").answered()

    def test_of_options_repeated_come_in_their_order_and_once(self, folder: Path) -> None:
        ran = compare(folder, *("--group", "orders-etl"), *("--checkpoint", "payments") * 2, "--json")

        assert [json.loads(line)["job"] for line in ran.out.splitlines()] == ["checkpoint payments", "group orders-etl"]

    def test_of_jobs_that_cannot_be_read_have_the_reason_and_stop_nobody(self, folder: Path) -> None:
        (folder / "empty").mkdir()
        gone = [{"name": name, "uri": f"./{name}"} for name in ("empty", "missing")]
        listed = yaml.safe_load((folder / "migration.yaml").read_text(encoding="utf-8"))["checkpoints"]
        add(
            folder,
            checkpoints=[gone[0], *listed, gone[1]],
            checkpoint_roots=["."],
            groups=["orders-etl", "nobody"],
        )

        ran = compare(folder, "--all", "--json", "--out", folder / "out", "--detailed-exitcode")

        assert ran.code == 1, "a job that could not be read is worse than one that differs"
        lines = [json.loads(line) for line in ran.out.splitlines()]
        errors = {line["job"]: line for line in lines if line["format"] == "offsetwise/error"}
        assert {job: line["error"] for job, line in errors.items()} == {
            "checkpoint empty": "NotACheckpointError",
            "checkpoint missing": "MissingError",
            "group nobody": "ClusterError",
        }
        for line in errors.values():
            jsonschema.validate(line, documents.schema("error"))
        assert "error checkpoint empty: " in ran.err
        body = summary(folder)
        assert [names(job) for job in body["jobs"]] == [
            *("checkpoint empty", "checkpoint orders", "checkpoint payments", "checkpoint missing"),
            *("group orders-etl", "group nobody"),
        ]
        assert [job["unread"] is None for job in body["jobs"]] == [False, True, True, False, True, False]
        assert body["unread"] == 3
        alone = [job["summary"] for job in body["jobs"] if job["summary"] is not None]
        assert body["summary"]["partitions"] == sum(each["partitions"] for each in alone) == 12
        assert body["summary"]["raw_skip"] == str(sum(int(each["raw_skip"]) for each in alone))

    def test_of_300_jobs_four_of_which_cannot_be_compared_are_those_of_the_others(self, folder: Path) -> None:
        """Three cannot be read, one is on the new cluster already, and two commit to one group."""
        listed = yaml.safe_load((folder / "migration.yaml").read_text(encoding="utf-8"))["checkpoints"]
        jobs: list[dict[str, Any]] = [
            listed[0] | {"name": f"job-{number:03}", "job": {"sink": "file"}} for number in range(300)
        ]
        (folder / "checkpoints" / "torn" / "offsets").mkdir(parents=True)
        (folder / "checkpoints" / "torn" / "offsets" / "0").write_text("v1\n{", encoding="utf-8")
        (folder / "checkpoints" / "none").write_text("a file", encoding="utf-8")
        for number, name in ((20, "torn"), (150, "gone"), (299, "none")):
            jobs[number]["uri"] = f"./checkpoints/{name}"
        jobs[77]["belongs_to"] = "new"
        for number in (5, 6):
            jobs[number]["job"]["commits_to"] = "shared"
        add(folder, checkpoints=jobs, groups=[])

        ran = compare(folder, "--all", "--json", "--out", folder / "out")
        status = call(
            *("status", "-m", folder / "migration.yaml", "--folder", folder / "out", "--json"),
            *("--snapshots", folder / "old.json", folder / "new.json"),
        ).answered()

        lines = [json.loads(line) for line in ran.out.splitlines()]
        refused = {line["job"] for line in lines if line["format"] == "offsetwise/error"}
        assert refused == {f"checkpoint job-{number:03}" for number in (20, 77, 150, 299)}
        others = {
            json.dumps({key: line[key] for key in ("partitions", "summary")})
            for line in lines
            if line["format"] != "offsetwise/error"
        }
        assert (len(lines), len(others)) == (300, 1), "the others are compared as ever"
        assert summary(folder)["unread"] == 4
        assert len(status["jobs"]) == 300
        blocked = {job["job"]: job["evidence"] for job in status["jobs"] if job["job"] in refused}
        assert all(job["state"] == "BLOCKED" for job in status["jobs"] if job["job"] in refused), blocked
        assert len({*blocked.values()}) == 4, "each with a reason of its own"
        (shared,) = (each for each in status["findings"] if each["code"] == "GROUP_SHARED")
        assert "job-005" in shared["message"]
        assert "job-006" in shared["message"]

    def test_for_people_are_a_line_each_and_a_sum(self, folder: Path) -> None:
        ran = compare(folder, "--all")

        lines = ran.out.splitlines()
        assert lines[0].startswith("checkpoint orders: 3 of 8 partitions would go wrong if")
        assert lines[-1] == "3 jobs compared, 2 would go wrong."

    def test_say_by_the_exit_code_whether_a_number_would_go_wrong(self, folder: Path) -> None:
        assert compare(folder, "--all").code == 0
        assert compare(folder, "--all", "--detailed-exitcode").code == 2

    @with_cases(
        ("given", "told"),
        [
            (["--all", "--checkpoint", "orders"], "expected --all, --wave, or jobs by name, found more than one"),
            (["--wave", "pilot", "--group", "etl"], "expected --all, --wave, or jobs by name, found more than one"),
            (["--wave", "pilot"], "expected a wave named 'pilot', the file has: none"),
            (["--all", "--max-age", "soon"], "expected a number and s, m, h or d, found 'soon'"),
            (["--checkpoint", "orders", "--checkpoint", "nope"], "expected a checkpoint named 'nope'"),
            ([], "found both or neither"),
        ],
        ids=["all and one", "wave and one", "no wave", "no time", "unknown", "none"],
    )
    def test_are_refused_where_the_jobs_are_not_clear(self, folder: Path, given: list[str], told: str) -> None:
        assert told in compare(folder, *given, "--json").refused()["problem"]

    def test_need_a_job(self, folder: Path) -> None:
        add(folder, checkpoints=[], groups=[], checkpoint_roots=["."])

        assert "the file has none" in compare(folder, "--all", "--json").refused()["problem"]


class TestTheFolder:
    def test_has_a_comparison_of_each_job_and_a_summary(self, folder: Path) -> None:
        assert compare(folder, "--all", "--out", folder / "out").code == 0

        assert sorted(path.name for path in (folder / "out").iterdir()) == [
            *("checkpoint-orders.json", "checkpoint-payments.json", "group-orders-etl.json", "summary.json"),
        ]
        made = files.load((folder / "out" / "checkpoint-orders.json").read_bytes(), "comparison", subject="orders")
        assert (made.job, len(made.partitions)) == ("checkpoint orders", 8)
        job = summary(folder)["jobs"][0]
        assert (job["file"], job["taken_at"]) == ("checkpoint-orders.json", made.taken_at)
        assert set(job["findings"]) == {finding.code for finding in made.findings}

    def test_is_not_made_again_while_it_holds(self, folder: Path) -> None:
        assert reused(folder) == [False, False, False]
        before = {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.name != "summary.json"}
        assert reused(folder) == [True, True, True]
        for name, content in before.items():
            assert (folder / "out" / name).read_bytes() == content

    def test_gets_what_is_missing(self, folder: Path) -> None:
        reused(folder)
        (folder / "out" / "group-orders-etl.json").unlink()
        (folder / "out" / "summary.json").unlink()

        assert reused(folder) == [True, True, False]

    def test_is_made_again_for_a_job_whose_checkpoint_moved_on(self, folder: Path) -> None:
        reused(folder)
        newest = max((folder / "checkpoints" / "orders" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        newest.write_text(newest.read_text(encoding="utf-8").replace("1100", "1101"), encoding="utf-8")

        assert reused(folder) == [False, True, True]

    def test_is_made_again_for_a_group_that_committed(self, folder: Path) -> None:
        reused(folder)
        path = folder / "old.json"
        path.write_text(path.read_text(encoding="utf-8").replace('"offset": "975"', '"offset": "976"'), "utf-8")

        assert reused(folder) == [True, True, False]

    def test_is_made_again_where_a_topic_was_recreated_or_has_no_identity(self, folder: Path) -> None:
        reused(folder)
        taken_new = json.loads((folder / "new.json").read_text(encoding="utf-8"))
        for identity in ("AAAAAAAAAAAAAAAAAAAAAQ", None):
            topics = [each | {"id": identity} if each["name"] == "payments" else each for each in taken_new["topics"]]
            change(folder / "new.json", topics=topics)
            assert reused(folder) == [False, False, False], "of snapshots that are given, each job sees all topics"
        assert reused(folder) == [False, False, False]

    @with_cases("key", ["writers", "link"])
    def test_is_made_again_after_the_migration_file_changed(self, folder: Path, key: str) -> None:
        reused(folder)
        add(folder, **{key: {"writers": "mixed", "link": "other"}[key]})

        assert reused(folder) == [False, False, False]

    def test_is_made_again_by_another_release(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        reused(folder)
        monkeypatch.setattr("offsetwise.workflow.comparing_all.version", lambda _: "0.0.0")

        assert reused(folder) == [False, False, False]

    def test_is_made_again_once_it_is_too_old(self, folder: Path) -> None:
        taken(folder, datetime.now(UTC) - timedelta(minutes=50))
        reused(folder)
        assert reused(folder) == [True, True, True]
        assert compare(folder, "--all", "--out", folder / "out", "--max-age", "49m").code == 0
        assert [job["reused"] for job in summary(folder)["jobs"]] == [False, False, False]
        taken(folder, datetime.now(UTC) + timedelta(minutes=5))
        assert reused(folder) == [False] * 3
        assert reused(folder) == [False] * 3, "from the future"

    def test_is_not_written_over_where_something_else_has_the_name(self, folder: Path) -> None:
        (folder / "out").mkdir()
        (folder / "out" / "checkpoint-orders.json").write_text("notes of mine", encoding="utf-8")

        ran = compare(folder, "--all", "--out", folder / "out")

        assert ran.code == 1
        assert [names(job) for job in summary(folder)["jobs"] if job["unread"]] == ["checkpoint orders"]
        assert (folder / "out" / "checkpoint-orders.json").read_text(encoding="utf-8") == "notes of mine"

    @with_cases("stands", ["a file", "another summary", "no folder above"])
    def test_is_refused_before_anything_is_read_where_it_cannot_be_used(self, folder: Path, stands: str) -> None:
        out = folder / "out"
        if stands == "a file":
            out.write_text("", encoding="utf-8")
        elif stands == "another summary":
            out.mkdir()
            (out / "summary.json").write_text("{}", encoding="utf-8")
        else:
            out = folder / "deep" / "out"

        assert compare(folder, "--all", "--out", out, "--json").refused()["error"] in ("FileError", "VersionError")
        assert not [*folder.glob("**/checkpoint-*.json")]

    def test_that_fills_up_keeps_what_was_written_and_goes_on_later(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = new_files.write_over

        def full(path: Path, text: str) -> None:
            if path.name.startswith("group-"):
                raise ow.FileError(f"{path}: expected to write it, but No space left on device.", fix="Make room.")
            whole(path, text)

        monkeypatch.setattr(new_files, "write_over", full)
        assert compare(folder, "--all", "--out", folder / "out", "--json").code == 1
        assert not (folder / "out" / "summary.json").exists()
        monkeypatch.undo()
        assert reused(folder) == [True, True, False]

    def test_leaves_nothing_half_written(self, folder: Path) -> None:
        (folder / "out" / "summary.json").mkdir(parents=True)
        with pytest.raises(ow.FileError, match="It is as it was before"):
            new_files.write_over(folder / "out" / "summary.json", "{}")

        assert [path.name for path in (folder / "out").iterdir()] == ["summary.json"]

    def test_names_files_so_that_no_name_leads_elsewhere(self) -> None:
        hostile = ["..", "../../x", "a/b", "a%2Fb", "é", "a" * 200, "界" * 200, "界" * 199 + "x", "a b\x7f", "CON"]
        named = [file_name(WantedJob(kind=SubjectKind.GROUP, name=name)) for name in hostile]

        assert len(set(named)) == len(hostile)
        assert all(len(name) <= 255 and name.isascii() and "/" not in name for name in named)
        assert named[:3] == ["group-...json", "group-..%2F..%2Fx.json", "group-a%2Fb.json"]
        assert len({file_name(WantedJob(kind=kind, name="a")) for kind in SubjectKind}) == 2

    def test_has_a_file_for_each_of_two_names_that_differ_in_capitals_alone(self, folder: Path) -> None:
        sample = yaml.safe_load((folder / "migration.yaml").read_text(encoding="utf-8"))["checkpoints"]
        add(folder, checkpoints=[*sample, {"name": "Orders", "uri": sample[1]["uri"]}])

        assert reused(folder) == [False] * 4
        assert reused(folder) == [True] * 4
        named = [job["file"] for job in summary(folder)["jobs"]]
        assert len({name.lower() for name in named}) == 4
        assert named[1] == "checkpoint-payments.json"
        assert compare(folder, "--checkpoint", "Orders", "--out", folder / "out").code == 0
        assert [job["reused"] for job in summary(folder)["jobs"]] == [True], "some of the jobs have the same names"


def test_from_python_each_job_is_heard_as_it_comes(folder: Path) -> None:
    migration = ow.Migration.load(folder / "migration.yaml")
    snapshots = ow.load_snapshots(folder / "old.json", folder / "new.json")
    heard: list[ow.Compared] = []

    made = migration.compare_all(snapshots=snapshots, out=folder / "out", heard=heard.append)

    assert [str(each.job) for each in made] == JOBS
    assert tuple(heard) == made
    comparison = made[1].comparison
    assert comparison is not None
    assert (len(comparison), made[1].file, made[1].error) == (2, folder / "out" / "checkpoint-payments.json", None)
    again = migration.compare_all([migration.group("orders-etl")], snapshots=snapshots, out=folder / "out")
    assert [(str(each.job), each.reused) for each in again] == [("group orders-etl", True)]
    assert again[0].comparison is not None
    plan = migration.group("orders-etl").compare(snapshots=snapshots)
    assert again[0].comparison.partitions == plan.partitions


def test_a_command_that_is_stopped_keeps_what_it_wrote(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from offsetwise.workflow import comparing  # noqa: PLC0415 - the module that is changed

    compared = comparing._compared

    def stopped(scene: Any, *read: Any, content: bool) -> Any:
        if scene.subject.group is not None:
            raise KeyboardInterrupt
        return compared(scene, *read, content=content)

    monkeypatch.setattr(comparing, "_compared", stopped)
    ran = compare(folder, "--all", "--out", folder / "out")

    assert (ran.code, "Stopped before the end." in ran.err) == (1, True)
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "checkpoint-orders.json",
        "checkpoint-payments.json",
    ]
    monkeypatch.undo()
    assert reused(folder) == [True, True, False]
