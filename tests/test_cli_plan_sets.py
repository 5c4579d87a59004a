"""The commands of plans on a set of plans: exit codes, documents, and words."""

from __future__ import annotations

import json
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from offsetwise import files
from offsetwise.api import live
from offsetwise.approval import keygen, write_keys
from offsetwise.cli import documents
from offsetwise.model import Target
from tests.apply.plans import COPY, STARTING
from tests.apply.sets import SetStage, staged_set
from tests.apply.worlds import REVIEWER
from tests.commands import Ran, call
from tests.with_cases import with_cases

JOBS = ["checkpoint job0", "checkpoint job1", "checkpoint job2"]


class Desk:
    """A set, keys and a migration file in a folder, and the commands on them."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        groups = [Target(kind="consumer-group", group=f"etl{number}") for number in range(2)]
        self.staged: SetStage = staged_set(folder, [(COPY, groups[0]), (groups[1],), (STARTING,)])
        self.staged.use(patch)
        patch.setattr(live, "LiveReaders", lambda migration: self.staged.world)  # noqa: ARG005 - its own name
        self.folder = folder
        self.migration = folder / "m.yaml"
        body = self.staged.migration.model_dump(mode="json", include={"name", "checkpoint_roots", "write_roots"})
        clusters = {"source": "old", "target": "new"}
        body |= {side: {"properties": {"bootstrap.servers": f"{name}.invalid:9092"}} for side, name in clusters.items()}
        self.migration.write_text(yaml.safe_dump(body), encoding="utf-8")

    def sign(self, *more: str | Path, out: str = "set.approval.json") -> Ran:
        given = ("--key", self.folder / "reviewer", "--as", "reviewer@example.org", "--out", self.folder / out)
        return call("sign", self.staged.home, *given, *more)

    def apply(self, *more: str | Path, approved: bool = True) -> Ran:
        given = ("-m", self.migration, "--output", self.staged.output, "--trust", self.staged.trusted)
        by = ("--approval", self.staged.approval) if approved else ()
        return call("apply", self.staged.file, *given, *by, *more)

    def on(self, command: str, *more: str | Path) -> Ran:
        return call(command, self.staged.file, "-m", self.migration, *more)

    def stale(self, number: int) -> dict[Any, Any]:
        """Let the group of a job hold other commits than were reviewed; return those."""
        held = self.staged.groups.offsets[f"etl{number}"]
        reviewed = dict(held)
        held.clear()
        return reviewed


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path, monkeypatch)
    assert made.sign().code == 0
    return made


def lines(ran: Ran) -> list[dict[str, Any]]:
    """Return the documents of a command, each held against its schema, and so what is in them."""
    read = [json.loads(line) for line in ran.out.splitlines()]
    for one in read:
        jsonschema.validate(one, documents.schema("plan-outcome"))
        assert one["format"] == "offsetwise/plan-outcome"
        if one["result"] is not None:
            kind = one["result"]["format"].removeprefix("offsetwise/")
            jsonschema.validate(one["result"], (files if kind in files.KINDS else documents).schema(kind))
    return read


def kinds(ran: Ran) -> list[tuple[str, str]]:
    """Return the job of each plan, and the error or else the kind of document that there is of it."""
    return [
        (
            one["job"],
            one["result"]["format"].removeprefix("offsetwise/") if one["error"] is None else one["error"]["error"],
        )
        for one in lines(ran)
    ]


class TestSign:
    def test_says_what_each_plan_is_and_writes_one_approval(self, desk: Desk) -> None:
        ran = desk.sign("--json", out="again.json")

        assert ran.code == 0
        assert (desk.folder / "again.json").read_text(encoding="utf-8") == ran.out
        for number, one in enumerate(desk.staged.stages):
            assert f"checkpoint job{number}: {one.plan.moves} to " in ran.err
        assert "has 3 plans." in ran.err

    def test_is_refused_to_the_author_of_one_plan(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.apply.sets.REVIEWER", keygen(subject="a"))
        desk = Desk(tmp_path, monkeypatch)
        given = ("--key", desk.folder / "reviewer", "--as", "a", "--out", tmp_path / "a.json")
        ran = call("sign", desk.staged.file, *given)

        assert ran.code == 4
        assert "error checkpoint job0: Plan" in ran.err
        assert not (tmp_path / "a.json").exists()

    @with_cases(
        ("more", "message"),
        [
            (["--accept-unproven", "orders:0", "--reason", "so"], "expected --accept-unproven with one plan"),
            (["--confirm", "cannot be taken back"], "All of this plan can be taken back"),
        ],
        ids=["unproven", "confirmed"],
    )
    def test_is_refused_what_is_said_of_one_plan(self, desk: Desk, more: list[str], message: str) -> None:
        ran = desk.sign(*more, out="other.json")
        assert ran.code in (1, 4)
        assert message in ran.err

    def test_rejects_all_of_them(self, desk: Desk) -> None:
        assert desk.sign("--reject", out="no.json").code == 0

        ran = desk.apply("--execute", "--approval", desk.folder / "no.json")
        assert (ran.code, "rejected it" in ran.err) == (4, True)


class TestApply:
    def test_shows_every_plan_and_writes_nothing(self, desk: Desk) -> None:
        ran = desk.apply(approved=False)

        assert ran.code == 0
        assert [line for line in ran.out.splitlines() if line in JOBS] == JOBS
        assert "3 plans: 3 could be applied." in ran.err
        assert kinds(desk.apply("--json", approved=False)) == [(job, "dry-run") for job in JOBS]
        assert desk.apply("--detailed-exitcode").code == 2
        assert not desk.staged.output.exists()

    def test_writes_them_and_says_so_again_and_again(self, desk: Desk) -> None:
        assert kinds(desk.apply("--execute", "--json")) == [(job, "receipt") for job in JOBS]
        ran = desk.apply("--execute")
        assert (ran.code, ran.out.count("It was applied before")) == (0, 4)
        assert desk.apply("--detailed-exitcode").code == 0

    def test_stops_at_the_first_that_fails_and_says_how_many_are_left(self, desk: Desk) -> None:
        desk.stale(1)

        ran = desk.apply("--execute", "--json")
        assert (ran.code, kinds(ran)) == (1, [(JOBS[0], "receipt"), (JOBS[1], "StalePlanError")])
        assert lines(ran)[1]["result"] is None
        assert "3 plans: 1 applied, 1 failed, 1 not reached: the same command goes on with them." in ran.err

    def test_goes_on_where_that_is_asked_for(self, desk: Desk) -> None:
        reviewed = desk.stale(1)

        ran = desk.apply("--execute", "--keep-going")
        assert (ran.code, "3 plans: 2 applied, 1 failed." in ran.err) == (1, True)
        assert "error checkpoint job1: " in ran.err
        desk.staged.groups.offsets["etl1"].update(reviewed)
        assert desk.apply("--execute").code == 0

    def test_without_writing_tells_of_all_that_are_stale(self, desk: Desk) -> None:
        desk.stale(0)
        desk.stale(1)

        ran = desk.apply("--json")
        assert (ran.code, kinds(ran)) == (
            1,
            [(JOBS[0], "StalePlanError"), (JOBS[1], "StalePlanError"), (JOBS[2], "dry-run")],
        )
        assert [one["result"]["changes"] for one in lines(ran)] == [False, False, True]
        assert "3 plans: 1 could be applied, 2 failed." in ran.err
        assert "changed" in desk.apply().out

    def test_is_refused_without_an_approval_before_anything_is_written(self, desk: Desk) -> None:
        ran = desk.apply("--execute", "--json", approved=False)

        assert (ran.code, json.loads(ran.out)["error"]) == (4, "NotApprovedError")
        assert not desk.staged.output.exists()

    def test_of_a_plan_takes_the_approval_of_its_set(self, desk: Desk) -> None:
        plan = desk.staged.home / "checkpoint-job1.plan.json"
        given = ("--trust", desk.staged.trusted, "--approval", desk.staged.approval, "--execute")

        assert call("apply", plan, "-m", desk.migration, *given).code == 0
        stranger = desk.folder / "job0.json"
        stranger.write_bytes(desk.staged.stages[0].data + b"\n")
        ran = call("apply", stranger, "-m", desk.migration, *given, "--output", desk.staged.output)
        assert (ran.code, "it is of the 3 plans of set" in ran.err) == (4, True)

    @with_cases(
        ("more", "message"),
        [
            (["--receipt", "r.json"], "expected --receipt with one plan, found it with a set of plans"),
            (["--migration", "nowhere.yaml"], "nowhere.yaml"),
        ],
        ids=["receipt", "no migration"],
    )
    def test_is_refused_in_words(self, desk: Desk, more: list[str], message: str) -> None:
        assert message in desk.apply(*more, "--json").refused()["problem"]

    def test_keeps_going_with_a_set_only(self, desk: Desk) -> None:
        plan = desk.staged.home / "checkpoint-job1.plan.json"
        for command in ("apply", "rollback"):
            ran = call(command, plan, "-m", desk.migration, "--keep-going", "--json")
            assert "expected --keep-going with a set of plans" in ran.refused()["problem"]


class TestVerify:
    def test_says_of_each_plan_what_is_there(self, desk: Desk) -> None:
        desk.apply("--execute")

        ran = desk.on("verify")
        assert (ran.code, [line for line in ran.out.splitlines() if line in JOBS]) == (0, JOBS)
        assert kinds(desk.on("verify", "--json")) == [(job, "verification") for job in JOBS]

    def test_fails_where_one_was_not_applied_and_more_where_one_is_different(self, desk: Desk) -> None:
        desk.stale(1)
        desk.apply("--execute")
        ran = desk.on("verify", "--json")
        assert (ran.code, [kind for _, kind in kinds(ran)]) == (1, ["verification", "FileError", "FileError"])
        held = desk.staged.groups.offsets["etl0"]
        held.update({key: replace(each, offset=1) for key, each in held.items()})
        assert desk.on("verify").code == 5

    @with_cases("more", [["--watch"], ["--job", "http://x/jobs/1"], ["--checkpoint", "c"], ["--plan", "p.json"]])
    def test_is_refused_what_is_about_one_plan(self, desk: Desk, more: list[str]) -> None:
        assert f"expected {more[0]} with one plan" in desk.on("verify", *more, "--json").refused()["problem"]


class TestRollback:
    def test_shows_and_takes_back_the_last_one_first(self, desk: Desk) -> None:
        desk.apply("--execute")

        assert kinds(desk.on("rollback", "--json")) == [(job, "rollback-preview") for job in reversed(JOBS)]
        trusted = ("--trust", desk.staged.trusted, "--execute")
        ran = desk.on("rollback", *trusted, "--json")
        assert (ran.code, kinds(ran)) == (0, [(job, "rollback") for job in reversed(JOBS)])
        assert list(desk.staged.output.iterdir()) == []
        assert "taken back" in desk.on("rollback", *trusted).out

    def test_of_nothing_says_so(self, desk: Desk) -> None:
        ran = desk.on("rollback", "--execute")
        assert (ran.code, "there is nothing to take back" in ran.err) == (0, True)

    def test_is_refused_without_an_approval_and_says_of_which_plan(self, desk: Desk) -> None:
        desk.apply("--execute")

        ran = desk.on("rollback", "--execute", "--json")
        assert (ran.code, kinds(ran)) == (1, [(JOBS[2], "NotApprovedError")])
        assert "expected --plan with one plan" in desk.on("rollback", "--plan", "p", "--json").refused()["problem"]


class TestDrift:
    @pytest.fixture
    def desk(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
        """Both clusters as values, of which each part is read once."""
        self.read: list[str] = []

        class Whole:
            def __init__(self, side: Any) -> None:
                self.side = side

            def snapshot(self, topics: Any, groups: Any, **_: Any) -> Any:
                return desk.staged.world.cluster(self.side, topics, groups)

        def read_whole(_: Any, side: Any, **__: Any) -> Whole:
            self.read.append(str(side))
            return Whole(side)

        monkeypatch.setattr("offsetwise.workflow.drifting.read_whole", read_whole)
        return desk

    def test_reads_each_cluster_once_and_finds_nothing(self, desk: Desk) -> None:
        ran = desk.on("drift", "--json")

        assert (ran.code, kinds(ran)) == (0, [(job, "drift") for job in JOBS])
        assert self.read == ["old", "new"]
        assert desk.on("drift").err.count("everything that the plan requires is as it was reviewed") == 3

    def test_exits_with_3_where_anything_has_changed(self, desk: Desk) -> None:
        desk.stale(1)

        ran = desk.on("drift", "--json")
        assert (ran.code, [bool(one["result"]["drift"]) for one in lines(ran)]) == (3, [False, True, False])
        assert "checkpoint job1: GROUP_MOVED" in ran.err


class TestExport:
    def test_packs_the_set_with_commands_that_work(self, desk: Desk) -> None:
        archive = desk.folder / "set.zip"
        given = ("--as", "zip", "--approval", desk.staged.approval, "--trust", desk.staged.trusted, "--out", archive)

        ran = desk.on("export", *given)
        assert ran.code == 0, ran.err
        assert "has 3 plans, 1 approval, and a README" in ran.err
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(desk.folder / "packed")
        home = desk.folder / "packed"
        names = [f"checkpoint-job{number}.plan.json" for number in range(3)]
        assert {path.name for path in home.iterdir()} == {
            "README.md",
            "plan-set.json",
            "plan-set.approval-1.json",
            *names,
        }
        readme = (home / "README.md").read_text(encoding="utf-8")
        check = readme.split("```sh\n")[1].split("```")[0]
        assert subprocess.run(["sh", "-c", check], cwd=home, capture_output=True, check=False).returncode == 0
        commands = [line for line in readme.splitlines() if line.startswith("offsetwise ")]
        assert len(commands) == 4
        assert "| checkpoint job1 | consumer-group:etl1 |" in readme
        desk.staged.home.rename(desk.folder / "elsewhere")
        for command in commands:
            words = [str(desk.migration) if word == "migration.yaml" else word for word in command.split()[1:]]
            words = [str(home / word) if word.startswith("plan-set") else word for word in words]
            trusted = ["--trust", str(desk.staged.trusted)] if words[0] in ("apply", "rollback") else []
            ran = call(*words, *trusted)
            assert ran.code == 0, (command, ran.err)

    def test_is_refused_where_a_plan_is_not_approved(self, desk: Desk) -> None:
        ran = desk.on("export", "--as", "zip", "--out", desk.folder / "set.zip", "--trust", desk.staged.trusted)

        assert (ran.code, "error checkpoint job0: Plan" in ran.err) == (4, True)
        assert not (desk.folder / "set.zip").exists()
        assert (
            "expected --as starting-offsets with one plan"
            in call("export", desk.staged.file, "--as", "starting-offsets", "--json").refused()["problem"]
        )


def test_a_plan_in_which_the_word_occurs_is_a_plan(desk: Desk) -> None:
    plan = desk.folder / "plan.json"
    body = json.loads(desk.staged.stages[1].data) | {"editors": ['"offsetwise/plan-set"']}
    plan.write_text(json.dumps(body), encoding="utf-8")

    assert call("export", plan, "--as", "consumer-groups-csv").code == 0
    write_keys(desk.folder / "rea", keygen(subject="rea"))
    out = desk.folder / "rea.json"
    assert call("sign", plan, "--key", desk.folder / "rea", "--as", "rea", "--out", out).code == 0
    assert REVIEWER.public.subject not in out.read_text(encoding="utf-8")
