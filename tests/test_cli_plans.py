"""`apply`, `verify` and `rollback` as people and automation call them: exit codes, documents, and words."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import yaml

from offsetwise import approval
from offsetwise.api import live
from offsetwise.apply.disk import Disk
from offsetwise.apply.run import Tools
from tests.apply.plans import files_of, tree_hash
from tests.apply.test_recheck import DRIFT, UNREADABLE
from tests.apply.worlds import Stage, stage
from tests.commands import Ran, call
from tests.with_cases import with_cases


class Desk:
    """A plan, keys and a migration file in a folder, and the commands on them."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch, *, absent: Collection[int] = ()) -> None:
        self.staged: Stage = stage(folder, absent=absent)
        self.disk: Disk | None = None
        self.ahead = timedelta()
        self.folder = folder / "desk"
        self.folder.mkdir()
        self.migration = self.folder / "m.yaml"
        body = {
            "name": "test",
            "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
            "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
            "checkpoint_roots": [str(folder)],
            "write_roots": [str(folder)],
        }
        self.migration.write_text(yaml.safe_dump(body))
        self.plan = self.folder / "plan.json"
        self.plan.write_bytes(self.staged.data)
        self.keys("rea")
        self.sign("rea")

        def tools_for(*_: object) -> Tools:
            return replace(self.staged.tools(self.disk), now=lambda: datetime.now(UTC) + self.ahead)

        patched.setattr(live, "tools_for", tools_for)
        patched.setattr(live, "LiveReaders", lambda migration: self.staged.world)  # noqa: ARG005 - its own name

    def keys(self, name: str) -> None:
        approval.write_keys(self.folder / name, approval.keygen(subject=name))

    def sign(self, name: str, *more: str) -> Path:
        out = self.folder / f"{name}.approval.json"
        ran = call("sign", self.plan, "--key", self.folder / name, "--as", name, "--out", out, *more)
        assert ran.code == 0, ran.err
        return out

    def apply(self, *more: str | Path, approved: bool = True) -> Ran:
        given = ("--approval", self.folder / "rea.approval.json", "--trust", self.folder / "rea.pub")
        return call(
            *("apply", self.plan, "--migration", self.migration, "--output", str(self.staged.output)),
            *(given if approved else ()),
            *more,
            width=200,
        )

    def on_receipt(self, command: str, *more: str | Path, name: str = "plan.receipt.json") -> Ran:
        given: tuple[str | Path, ...] = ("--trust", self.folder / "rea.pub") if command == "rollback" else ()
        if name.endswith(".journal"):
            given = (*given, "--plan", self.plan, "--approval", self.folder / "rea.approval.json")
        return call(command, self.folder / name, "--migration", self.migration, *given, *more, width=200)

    def world(self) -> tuple[str, object]:
        return tree_hash(self.staged.folder), self.staged.groups.at()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def document(ran: Ran) -> dict[str, Any]:
    """Return what was printed, which keeps to the schema that is published for it."""
    body: dict[str, Any] = json.loads(ran.out)
    kind = body["format"].removeprefix("offsetwise/")
    jsonschema.validate(body, json.loads(call("schema", kind).out))
    return body


class TestApply:
    def test_without_execute_is_a_dry_run_that_needs_no_approval(self, desk: Desk) -> None:
        before = desk.world()

        ran = desk.apply(approved=False)

        assert ran.code == 0, ran.err
        assert desk.world() == before
        for position in desk.staged.plan.positions:
            assert f"{position.new_offset:,}" in ran.out
        assert "Nothing was written: this is a dry run." in ran.out

    def test_without_execute_reads_no_key_and_only_the_approvals_that_are_named(self, desk: Desk) -> None:
        gone = desk.folder / "gone"
        trusted = {"file": str(gone), "issuer": "i", "subject": "s"}
        body = yaml.safe_load(desk.migration.read_text()) | {"approval": {"trusted_keys": [trusted]}}
        desk.migration.write_text(yaml.safe_dump(body))

        assert desk.apply(approved=False).code == 0
        assert desk.apply("--approval", gone, "--trust", gone, approved=False).code == 4, (
            "they may accept what is unproven"
        )
        assert desk.apply("--execute").code == 4, "writing needs them"

    def test_without_execute_says_where_an_earlier_call_stopped(self, desk: Desk) -> None:
        desk.staged.groups.refuse = {sorted(desk.staged.groups.at())[0]: "its leader is changing"}
        assert desk.apply("--execute").code == 1

        ran = desk.apply(approved=False)
        assert ran.code == 0, ran.err
        assert "spark-checkpoint: written by an earlier call; now as written." in ran.out
        assert "The same command with --execute continues from there." in ran.out
        assert desk.apply("--detailed-exitcode", approved=False).code == 2
        assert desk.apply("--execute").code == 0
        assert desk.apply("--detailed-exitcode", approved=False).code == 0, "nothing is left"

    def test_an_approval_that_is_gone_when_going_on_does_not_hide_what_was_written(self, desk: Desk) -> None:
        desk.staged.groups.refuse = {sorted(desk.staged.groups.at())[0]: "its leader is changing"}
        desk.apply("--execute")
        (desk.folder / "rea.approval.json").unlink()

        problem = document(desk.apply("--execute", "--json"))["problem"]
        assert problem.startswith("This call: ")
        assert "Nothing was written. Written by an earlier call: A copy of" in problem

    def test_tells_by_exit_code_that_it_would_change_something(self, desk: Desk) -> None:
        assert desk.apply("--detailed-exitcode", approved=False).code == 2

    def test_gives_the_diff_as_one_document_with_offsets_as_strings(self, desk: Desk) -> None:
        body = document(desk.apply("--json", approved=False))

        assert body["format"] == "offsetwise/dry-run"
        assert body["changes"] is True
        numbers = [n for file in body["previews"][0]["files"] for n in file["numbers"]]
        assert {type(number["after"]) for number in numbers} == {str}

    def test_with_execute_writes_the_receipt_beside_the_plan(self, desk: Desk) -> None:
        made = document(desk.apply("--execute", "--json"))

        assert [step["state"] for step in made["steps"]] == ["done", "done"]
        assert json.loads((desk.folder / "plan.receipt.json").read_text()) == made
        assert desk.apply("--execute").code == 0, "the same call again"

    def test_not_approved_is_four_and_comes_before_stale(self, desk: Desk) -> None:
        DRIFT["another new cluster"](desk.staged)
        before = desk.world()

        ran = desk.apply("--execute", "--json", approved=False)

        assert ran.code == 4
        assert document(ran)["error"] == "NotApprovedError"
        assert desk.world() == before

    @with_cases("more", [(), ("--execute",)], ids=["dry run", "execute"])
    def test_stale_is_three_and_says_what_differs(self, desk: Desk, more: tuple[str, ...]) -> None:
        DRIFT["log start passed the place"](desk.staged)
        before = desk.world()

        ran = desk.apply(*more)
        as_json = desk.apply(*more, "--json")

        assert (ran.code, as_json.code) == (3, 3)
        told = ran.out + ran.err
        for position in desk.staged.plan.positions:
            name = str(position.new_topic_partition)
            assert f"{name}, log start: reviewed at most {position.new_offset}, the position, now 99999." in told
        assert document(as_json)["error"] == "StalePlanError"
        assert desk.world() == before

    def test_unreadable_is_one(self, desk: Desk) -> None:
        UNREADABLE["a log without an end"](desk.staged)

        assert desk.apply("--execute").code == 1

    def test_any_byte_changed_since_is_not_approved(self, desk: Desk) -> None:
        desk.plan.write_bytes(desk.staged.data + b"\n")

        assert desk.apply("--execute").code == 4

    def test_a_rejection_is_not_approved(self, desk: Desk) -> None:
        desk.keys("bo")
        no = desk.sign("bo", "--reject")

        assert desk.apply("--execute", "--approval", no, "--trust", desk.folder / "bo.pub").code == 4

    @with_cases("content", [b"", b"{}", b'{"format":"offsetwise/plan","format_version":"2.0"}'])
    def test_what_is_no_plan_is_refused_in_words(self, desk: Desk, content: bytes) -> None:
        desk.plan.write_bytes(content)

        ran = desk.apply("--execute", "--json")
        assert ran.code in (1, 4)
        assert "Traceback" not in ran.err
        assert document(ran)["format"] == "offsetwise/error"

    def test_a_plan_that_is_not_there_is_told(self, desk: Desk) -> None:
        desk.plan.unlink()
        assert desk.apply().code == 1


class TestVerify:
    def test_before_the_start_all_is_confirmed(self, desk: Desk) -> None:
        desk.apply("--execute")

        body = document(desk.on_receipt("verify", "--json"))
        assert {each["turnout"] for each in body["positions"]} == {"CONFIRMED"}
        assert "CONFIRMED" in desk.on_receipt("verify").out

    def test_different_is_five(self, desk: Desk) -> None:
        desk.apply("--execute")
        desk.staged.groups.offsets["etl"].clear()

        assert desk.on_receipt("verify").code == 5
        assert desk.on_receipt("verify", "--detailed-exitcode").code == 5
        assert desk.on_receipt("verify", "--watch").code == 5, "a watch ends there"

    def test_unknown_is_one(self, desk: Desk) -> None:
        desk.apply("--execute")
        desk.staged.groups.error = "the user is not authorised"

        assert desk.on_receipt("verify", "--json").code == 1

    def test_watch_waits_until_the_job_has_begun(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        desk.apply("--execute")
        waits = iter(range(3))

        def waited(_seconds: float) -> None:
            held = desk.staged.groups.offsets["etl"]
            if next(waits) == 1:
                for key, one in held.items():
                    held[key] = type(one)(topic=one.topic, partition=one.partition, offset=one.offset + 1)
                (Path(str(desk.staged.output)) / "metadata").write_text("{}")

        # Of this module alone: a thread that PySpark leaves in the process sleeps, too.
        monkeypatch.setattr("offsetwise.cli.apply.time", SimpleNamespace(sleep=waited))
        ran = desk.on_receipt("verify", "--watch", "--json")

        assert ran.code == 5
        assert len(ran.out.splitlines()) == 3

    def test_of_no_receipt_is_told(self, desk: Desk) -> None:
        assert desk.on_receipt("verify").code == 1


class TestRollback:
    def test_without_execute_changes_nothing(self, desk: Desk) -> None:
        desk.apply("--execute")
        before = desk.world()

        ran = desk.on_receipt("rollback")
        assert ran.code == 0
        assert "as written" in ran.out
        assert "Nothing was changed" in ran.out
        assert document(desk.on_receipt("rollback", "--json"))["format"] == "offsetwise/rollback-preview"
        assert desk.world() == before

    def test_puts_everything_back(self, desk: Desk) -> None:
        source, group = files_of(desk.staged.source), desk.staged.groups.at()
        desk.apply("--execute")

        body = document(desk.on_receipt("rollback", "--execute", "--json"))

        assert {step["state"] for step in body["steps"]} == {"undone"}
        assert files_of(desk.staged.source) == source
        assert desk.staged.groups.at() == group
        assert desk.on_receipt("rollback", "--execute").code == 0, "twice is once"

    def test_goes_by_the_journal_where_there_is_no_receipt(self, desk: Desk) -> None:
        group = desk.staged.groups.at()
        desk.staged.groups.refuse = {sorted(group)[0]: "its leader is changing"}
        ran = desk.apply("--execute", "--json")
        assert ran.code == 1
        assert "plan.receipt.json.journal" in document(ran)["fix"]

        assert desk.on_receipt("rollback", "--execute", name="plan.receipt.json.journal").code == 0
        assert desk.staged.groups.at() == group

    def test_that_is_not_whole_is_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        desk = Desk(tmp_path, monkeypatch)
        desk.apply("--execute")
        held = desk.staged.groups.offsets["etl"]
        key = next(iter(held))
        held[key] = type(held[key])(topic=key.topic, partition=key.partition, offset=10**6)

        ran = desk.on_receipt("rollback", "--execute")
        assert ran.code == 1
        assert "somebody has committed since" in ran.err


def test_the_help_names_every_exit_code() -> None:
    told = call("apply", "--help", width=200).out
    for code in ("2 differences", "3 stale", "4 not approved", "5 verification failed"):
        assert code in " ".join(told.split())
