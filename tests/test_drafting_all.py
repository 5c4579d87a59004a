"""Many jobs drafted by one command: the set, what is drafted again, and who is refused. No cluster, no Spark."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import offsetwise as ow
from offsetwise import files
from offsetwise.config import Migration
from offsetwise.errors import ClusterError, OffsetwiseError
from offsetwise.model import Comparison, PartitionComparison, Target
from offsetwise.model.digest import digest
from offsetwise.plan.sets.several_jobs import target_of_each, targets_of
from offsetwise.workflow import WantedJob, comparing, sample_comparison
from tests.commands import Ran, call
from tests.with_cases import with_cases

SAMPLE = Path(ow.__file__).parent / "sample"
JOBS = ["checkpoint orders", "checkpoint payments", "group orders-etl"]
TARGETS = ("--target", "spark-checkpoint", "--target", "consumer-group")


class Desk:
    """The sample in a folder, its clusters as values, and the commands on it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        for name in ("migration.yaml", "checkpoints", "old.json", "new.json"):
            copy = shutil.copytree if (SAMPLE / name).is_dir() else shutil.copy
            copy(SAMPLE / name, folder / name)
        old = self.folder / "old.json"
        moved = old.read_text(encoding="utf-8").replace('"offset": "1000"', '"offset": "1050"')
        old.write_text(moved.replace('"offset": "975"', '"offset": "1030"'), encoding="utf-8")
        self.readings = 0
        self.compared: list[str] = []
        self.broken: dict[str, OffsetwiseError] = {}
        self.now()
        patch.setattr("offsetwise.workflow.drafting_all.compare_each", self.compare_each)
        patch.setattr("offsetwise.workflow.planning.compare", self.compare)
        patch.setattr("offsetwise.workflow.planning.timestamps_at", lambda _, places: dict.fromkeys(places))

    @property
    def file(self) -> Path:
        return self.folder / "migration.yaml"

    @property
    def out(self) -> Path:
        return self.folder / "plans"

    def now(self) -> None:
        """Read both clusters anew."""
        taken = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for side in ("old", "new"):
            path = self.folder / f"{side}.json"
            path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"taken_at": taken}), "utf-8")

    def add(self, job_of_orders: dict[str, Any] | None = None, **keys: Any) -> None:
        """Change the migration file."""
        body: dict[str, Any] = yaml.safe_load(self.file.read_text(encoding="utf-8")) | keys
        body["checkpoints"][0].setdefault("job", {}).update(job_of_orders or {})
        self.file.write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")

    def compare_each(
        self, migration: Migration, wanted: Sequence[WantedJob], **how: Any
    ) -> Iterator[tuple[WantedJob, Comparison | OffsetwiseError]]:
        """Compare with the recorded clusters, and take recorded proofs for those of records that are read."""
        self.readings += 1
        snapshots = ow.load_snapshots(self.folder / "old.json", self.folder / "new.json")
        given = {key: value for key, value in how.items() if key != "snapshots"}
        for job, outcome in comparing.compare_each(migration, wanted, snapshots=snapshots, **given):
            if str(job) in self.broken:
                yield job, self.broken[str(job)]
            elif isinstance(outcome, Comparison) and outcome.made_from is None:
                self.compared.append(str(job))
                yield job, self._proven(job, outcome)
            else:
                yield job, outcome

    def _proven(self, job: WantedJob, claimed: Comparison) -> Comparison:
        """Prove positions as the recording does: a group's at those of the checkpoint that it commits."""
        proven = sample_comparison("orders" if job.checkpoint is None else job.name)
        rows = {row.topic_partition: row for row in proven.partitions}
        if job.checkpoint is not None:
            partitions = tuple(rows[row.topic_partition] for row in claimed.partitions)
            return replace(claimed, partitions=partitions, findings=proven.findings, summary=proven.summary)
        partitions = tuple(_committed(row, rows[row.topic_partition]) for row in claimed.partitions)
        return replace(claimed, partitions=partitions)

    def compare(self, migration: Migration, subject: Any, **how: Any) -> Comparison:
        ((_, outcome),) = self.compare_each(migration, [WantedJob.of(subject)], progress=how["progress"])
        if isinstance(outcome, OffsetwiseError):
            raise outcome
        return outcome

    def draft(self, *more: str | Path, targets: Sequence[str] = TARGETS, author: str = "ada") -> Ran:
        return call("draft", "-m", self.file, *targets, "--author", author, "--out", self.out, *more)

    def plan_set(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads((self.out / "plan-set.json").read_text(encoding="utf-8"))
        jsonschema.validate(body, files.schema("plan-set"))
        return body


def _committed(claimed: PartitionComparison, proven: PartitionComparison) -> PartitionComparison:
    assert claimed.old_offset == proven.old_offset
    restart = tuple(replace(point, new=proven.new_offset) for point in claimed.restart)
    return replace(proven, source=claimed.source, restart=restart, pending_equal=None, end_evidence=None)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def stable(plan: dict[str, Any]) -> dict[str, Any]:
    """Leave out when it was drafted."""
    return {key: value for key, value in plan.items() if key != "drafted_at"}


class TestPlans:
    def test_are_those_of_drafting_each_job_alone(self, desk: Desk) -> None:
        assert desk.draft("--all").code == 0
        assert desk.readings == 1, "one reading for all jobs"

        for job, target in zip(
            JOBS, ("spark-checkpoint", "spark-checkpoint", "consumer-group:orders-etl"), strict=True
        ):
            kind, _, name = job.partition(" ")
            alone = desk.folder / f"{name}.json"
            given = ("draft", "-m", desk.file, "--target", target, "--author", "ada", f"--{kind}", name)
            assert call(*given, "--out", alone).code == 0
            together = json.loads((desk.out / f"{kind}-{name}.plan.json").read_text(encoding="utf-8"))
            assert stable(together) == stable(json.loads(alone.read_text(encoding="utf-8")))

    def test_are_named_by_a_set_in_order_each_by_its_digest(self, desk: Desk) -> None:
        ran = desk.draft("--all", "--json")

        assert (ran.code, ran.out) == (0, (desk.out / "plan-set.json").read_text(encoding="utf-8"))
        body = desk.plan_set()
        assert (body["migration"], body["wave"], body["refused"]) == ("orders-to-new", None, [])
        assert [entry["job"] for entry in body["plans"]] == JOBS
        for entry in body["plans"]:
            assert entry["file"] == f"{entry['job'].replace(' ', '-', 1)}.plan.json"
            assert entry["digest"] == digest((desk.out / entry["file"]).read_bytes())
        assert len(ow.PlanSet.load(desk.out).plans) == 3

    def test_of_jobs_by_name_come_in_their_order_and_once(self, desk: Desk) -> None:
        assert desk.draft(*("--group", "orders-etl"), *("--checkpoint", "payments") * 2).code == 0

        assert [entry["job"] for entry in desk.plan_set()["plans"]] == JOBS[1:]

    def test_of_a_wave_are_named_after_it(self, desk: Desk) -> None:
        desk.add(waves=[{"name": "pilot", "jobs": ["group:*", "checkpoint:payments"]}])

        assert desk.draft("--wave", "pilot").code == 0
        body = desk.plan_set()
        assert (body["wave"], [entry["job"] for entry in body["plans"]]) == ("pilot", [JOBS[2], JOBS[1]])

    def test_of_one_job_by_name_are_one_file_as_ever(self, desk: Desk) -> None:
        assert desk.draft("--checkpoint", "payments", targets=TARGETS[:2]).code == 0

        assert json.loads(desk.out.read_text(encoding="utf-8"))["format"] == "offsetwise/plan"

    def test_from_python_need_no_folder_and_are_saved_later(self, desk: Desk, tmp_path: Path) -> None:
        migration, heard = ow.Migration.load(desk.file), list[ow.DraftedJob]()
        targets = (Target(kind="consumer-group"), ow.targets.SparkCopy())

        made = migration.draft_all(*targets, author="ada", heard=heard.append)

        assert [str(each.job) for each in heard] == JOBS
        assert [each.plan for each in heard] == list(made.plans)
        assert [plan.document.targets for plan in made.plans] == [(targets[1],)] * 2 + [
            (Target(kind="consumer-group", group="orders-etl"),)
        ]
        with pytest.raises(ow.UsageError, match="found one that is not saved"):
            made.apply()
        (tmp_path / "saved").mkdir()
        made.save(tmp_path / "saved")
        assert ow.PlanSet.load(tmp_path / "saved").content == made.content
        some = migration.draft_all(*targets, author="ada", jobs=[migration.group("orders-etl")], out=tmp_path / "one")
        assert some.path == tmp_path / "one" / "plan-set.json"
        assert ow.PlanSet.load(tmp_path / "one").content == some.content

    @with_cases(
        ("names", "expected"),
        [
            (("spark-checkpoint", "consumer-group"), ([0], [1])),
            (("seeded-checkpoint", "starting-offsets", "consumer-group"), ([0, 1], [2])),
            (("starting-offsets",), ([0], [0])),
            (("flink-savepoint", "connector", "kcl-leases"), ([], [])),
        ],
        ids=["mixed", "fresh starts", "a start alone", "of other engines"],
    )
    def test_write_those_targets_that_move_jobs_of_their_engine(
        self, names: tuple[str, ...], expected: tuple[list[int], list[int]]
    ) -> None:
        targets = [target_of_each(name) for name in names]
        checkpoint = sample_comparison("orders")
        group = replace(checkpoint, checkpoint=None, group="etl")

        for comparison, places in zip((checkpoint, group), expected, strict=True):
            kinds = [targets[place].kind for place in places]
            assert [target.kind for target in targets_of(targets, comparison)] == kinds
        assert [target.group for target in targets_of(targets, group) if target.kind == "consumer-group"] in (
            [],
            ["etl"],
        )


class TestJobsThatCannotBeDrafted:
    def test_are_named_with_the_reason_and_stop_nobody(self, desk: Desk) -> None:
        desk.add(groups=["orders-etl", "nobody"], checkpoint_roots=["."])
        body = yaml.safe_load(desk.file.read_text(encoding="utf-8"))
        desk.add(checkpoints=[{"name": "missing", "uri": "./missing"}, *body["checkpoints"]])

        ran = desk.draft("--all")

        assert ran.code == 1
        assert "error checkpoint missing: " in ran.err
        body = desk.plan_set()
        assert [entry["job"] for entry in body["plans"]] == JOBS
        assert [(each["job"], each["error"]) for each in body["refused"]] == [
            ("checkpoint missing", "MissingError"),
            ("group nobody", "ClusterError"),
        ]
        assert all(each["problem"] and each["fix"] for each in body["refused"])
        assert "names 3 plans; 2 refused." in ran.err

    def test_are_those_whose_plan_may_not_be_made(self, desk: Desk) -> None:
        desk.broken["checkpoint orders"] = ClusterError("No answer.", fix="Wait.")

        assert desk.draft("--all", "--require", "frozen", targets=("--target", "spark-checkpoint")).code == 1
        reasons = {each["job"]: each["problem"] for each in desk.plan_set()["refused"]}
        assert reasons["checkpoint orders"] == "No answer."
        assert "expected a target that moves a job of group, found spark-checkpoint" in reasons["group orders-etl"]

    def test_may_be_all_and_such_a_set_is_good_for_nothing(self, desk: Desk) -> None:
        assert desk.draft("--all", targets=("--target", "flink-savepoint")).code == 1

        assert desk.plan_set()["plans"] == []
        with pytest.raises(ow.PlanError, match="it has no plan"):
            ow.PlanSet.load(desk.out)


class TestWhatIsNotDraftedAgain:
    @pytest.fixture
    def desk(self, desk: Desk) -> Desk:
        assert desk.draft("--all").code == 0
        desk.compared.clear()
        return desk

    def again(self, desk: Desk, *more: str | Path, code: int = 0, **how: Any) -> list[str]:
        """Run the same command again; return what was compared for it."""
        desk.compared.clear()
        ran = desk.draft("--all", *more, **how)
        assert ran.code == code, ran.err
        return list(desk.compared)

    def test_is_what_still_holds(self, desk: Desk) -> None:
        before = {path.name: path.read_bytes() for path in desk.out.iterdir()}

        assert self.again(desk) == []
        assert {path.name: path.read_bytes() for path in desk.out.iterdir()} == before
        assert "It was drafted before and still holds." in desk.draft("--all").err

    @with_cases("gone", ["group-orders-etl.plan.json", "group-orders-etl.json"])
    def test_is_not_what_is_missing(self, desk: Desk, gone: str) -> None:
        (desk.out / gone).unlink()

        assert self.again(desk) == ["group orders-etl"]
        assert ow.PlanSet.load(desk.out).digest
        assert self.again(desk) == []

    def test_is_not_the_plan_of_a_checkpoint_that_moved_on(self, desk: Desk) -> None:
        folder = desk.folder / "checkpoints" / "payments" / "offsets"
        newest = max(folder.glob("[0-9]*"), key=lambda path: int(path.name))
        newest.write_text(newest.read_text(encoding="utf-8") + " ", encoding="utf-8")

        assert self.again(desk) == ["checkpoint payments"]

    def test_is_not_the_plan_of_a_group_that_moved_on_the_new_cluster(self, desk: Desk) -> None:
        path = desk.folder / "new.json"
        body = json.loads(path.read_text(encoding="utf-8"))
        offset = {"topic": "orders", "partition": 0, "offset": "7", "leader_epoch": None, "metadata": ""}
        group = {"name": "orders-etl", "state": "Empty", "type": "Classic", "error": None, "offsets": [offset]}
        path.write_text(json.dumps(body | {"groups": [group]}), encoding="utf-8")

        assert self.again(desk) == ["group orders-etl"]

    @with_cases(
        ("more", "how"),
        [
            (["--require", "frozen"], {}),
            (["--editor", "eve"], {}),
            ([], {"author": "bob"}),
            (["--cutover", "2026-12-01T00:00Z"], {}),
            (["--max-age", "0s"], {}),
        ],
        ids=["requirement", "editor", "author", "cutover", "age"],
    )
    def test_is_not_what_is_asked_for_otherwise(self, desk: Desk, more: list[str], how: dict[str, Any]) -> None:
        assert self.again(desk, *more, **how) == JOBS

    def test_is_what_another_target_of_other_jobs_leaves_as_it_was(self, desk: Desk) -> None:
        targets = ("--target", "spark-checkpoint-in-place", "--target", "consumer-group")

        assert self.again(desk, targets=targets) == JOBS[:2]

    def test_is_not_what_the_migration_file_says_otherwise(self, desk: Desk) -> None:
        desk.add(writers="mixed")

        assert self.again(desk) == JOBS

    @with_cases("what", ["edited", "of somebody else"])
    def test_is_not_written_over_where_it_is_none_of_ours(self, desk: Desk, what: str) -> None:
        path = desk.out / "checkpoint-payments.plan.json"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"ada"', '"bob"') if what == "edited" else "notes of mine", encoding="utf-8")
        before = path.read_bytes()

        assert self.again(desk, code=1) == []
        (refused,) = desk.plan_set()["refused"]
        assert (refused["job"], refused["error"]) == ("checkpoint payments", "FileError")
        assert "it was edited, or somebody else wrote it" in refused["problem"]
        assert path.read_bytes() == before

    @with_cases("left", ["receipt.json", "receipt.json.journal"])
    def test_is_never_written_over_once_it_was_applied(self, desk: Desk, left: str) -> None:
        (desk.out / f"group-orders-etl.plan.{left}").write_text("", encoding="utf-8")

        assert self.again(desk) == [], "it still holds"
        assert self.again(desk, "--max-age", "0s", code=1) == JOBS[:2]
        (refused,) = desk.plan_set()["refused"]
        assert f"found group-orders-etl.plan.{left}" in refused["problem"]

    def test_is_nothing_of_a_set_that_has_begun_to_be_applied(self, desk: Desk) -> None:
        (desk.out / "plan-set.json.journal").write_text("", encoding="utf-8")

        assert "nobody has begun to apply" in desk.draft("--all", "--json").refused()["problem"]

    @with_cases("begun", ["plan-set.json.journal", "group-orders-etl.plan.receipt.json.journal"])
    def test_is_not_written_over_where_it_begins_to_be_applied_meanwhile(
        self, desk: Desk, begun: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compare_each, path = desk.compare_each, desk.out / "group-orders-etl.plan.json"
        before, plan_set = path.read_bytes(), desk.plan_set()

        def meanwhile(*asked: Any, **how: Any) -> Iterator[Any]:
            yield from compare_each(*asked, **how)
            (desk.out / begun).write_text("", encoding="utf-8")

        monkeypatch.setattr("offsetwise.workflow.drafting_all.compare_each", meanwhile)
        ran = desk.draft("--all", "--max-age", "0s", "--json")
        assert ran.code == 1
        assert "nobody has begun to apply" in " ".join(ran.err.split())
        assert path.read_bytes() == before
        if begun.startswith("plan-set"):
            assert desk.plan_set() == plan_set

    def test_is_what_an_interrupted_command_has_drafted(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        from offsetwise.workflow import drafting_all, planning  # noqa: PLC0415 - the module that is changed

        shutil.rmtree(desk.out)
        drafted = planning.draft_compared

        def stopped(migration: Migration, request: Any, comparison: Comparison, **how: Any) -> Any:
            if request.subject.group is not None:
                raise KeyboardInterrupt
            return drafted(migration, request, comparison, **how)

        with monkeypatch.context() as patch:
            patch.setattr(drafting_all, "draft_compared", stopped)
            assert desk.draft("--all").code == 1
        assert not (desk.out / "plan-set.json").exists()
        with (desk.out / "drafts.jsonl").open("a", encoding="utf-8") as torn:
            torn.write('{"digest": "torn')
        assert self.again(desk) == ["group orders-etl"]
        assert self.again(desk) == []


@with_cases(
    ("given", "message"),
    [
        (["--all", "--checkpoint", "orders"], "expected --all, --wave, or jobs by name, found more than one"),
        (["--all", "--override", "orders:0=9", "--reason", "so"], "expected --override with one job"),
        (["--all", "--start", "orders=earliest"], "expected --start with one job"),
        (["--all", "--commit-transaction", "t"], "expected --commit-transaction with one job"),
        (["--all", "--abort-transaction", "t"], "expected --abort-transaction with one job"),
        (["--all", "--sink-rewound"], "expected --sink-rewound with one job"),
        (["--all", "--topic", "sink"], "expected --topic with one job"),
        (["--all", "--snapshots", "a", "b"], "expected --snapshots with one job"),
        (["--all", "--set", "rewind_to=3"], "found an earlier batch, which decides about one"),
        (["--all", "--set", "repair=drop-pending-batch"], "found a repair, which decides about one"),
        (["--all", "--set", "nothing=1"], "found 'nothing'"),
        (["--all", "--target", "consumer-group:etl"], "expected a group without a name|found a target with a name"),
        (["--all", "--target", "sink-transactions"], "found a target that ends transactions"),
        (["--all", "--author", " "], "expected an author"),
        (["--all", "--max-age", "soon"], "expected a number and s, m, h or d"),
        (["--wave", "nope"], "expected a wave named 'nope'"),
        (["--group", "a", "--checkpoint", "nope"], "expected a checkpoint named 'nope'"),
    ],
    ids=[
        *(
            "both ways",
            "override",
            "start",
            "commit",
            "abort",
            "sink rewound",
            "topic",
            "snapshots",
            "rewind",
            "repair",
        ),
        *("unknown key", "a name", "transactions", "author", "age", "wave", "checkpoint"),
    ],
)
def test_what_decides_about_one_job_is_refused_before_anything_is_read(
    desk: Desk, given: list[str], message: str
) -> None:
    assert re.search(message, desk.draft(*given, "--json").refused()["problem"])
    assert desk.readings == 0
    assert not desk.out.exists()


def test_several_jobs_need_a_migration_and_a_target(desk: Desk) -> None:
    ran = call("draft", "--all", "--author", "ada", "--out", desk.out, "--json")
    assert "expected --migration" in ran.refused()["problem"]
    assert "expected --target" in desk.draft("--all", "--json", targets=()).refused()["problem"]


def test_more_jobs_than_one_approval_can_name_are_refused_before_anything_is_read(desk: Desk) -> None:
    desk.add(groups=[f"g{number}" for number in range(499)])

    assert "at most 500 plans, found 501" in desk.draft("--all", "--json").refused()["problem"]
    assert desk.readings == 0


def test_a_folder_that_cannot_be_used_is_refused_before_anything_is_compared(desk: Desk) -> None:
    desk.out.write_text("", encoding="utf-8")

    assert desk.draft("--all", "--json").refused()["error"] == "FileError"
    assert desk.compared == []
