"""What nobody should apply, given to the commands: refused or undone, with what stands where now and the next step."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from offsetwise import approval, files
from offsetwise.apply.disk import Disk
from tests.apply.plans import files_of, tree_hash
from tests.apply.test_recheck import DRIFT
from tests.apply.worlds import Groups
from tests.approval.signed import forged
from tests.commands import call
from tests.test_cli_plans import Desk, document
from tests.with_cases import with_cases

_T = TypeVar("_T")


class Refusing(Disk):
    """Refuses one kind of call below the folder of the output, as a full disk or a missing right does."""

    def __init__(self, desk: Desk, name: str, code: int) -> None:
        self._below, self._name, self._code = str(desk.staged.output), name, code

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:
        if name == self._name and path.startswith(self._below):
            raise OSError(self._code, os.strerror(self._code), path)
        return super().call(name, path, action)


def edited(desk: Desk) -> None:
    desk.plan.write_bytes(desk.staged.data.replace(b'"author": "', b'"author": "x', 1))


def other_plan(desk: Desk) -> None:
    desk.plan.write_text(files.dump(replace(desk.staged.plan, drafted_at="2026-01-01T00:00:00Z")))
    (desk.folder / "rea.approval.json").unlink()
    desk.sign("rea")
    desk.plan.write_bytes(desk.staged.data)


def by_the_author(desk: Desk) -> None:
    """The command refuses to sign for the author, so another tool did."""
    key = approval.keygen(subject=desk.staged.plan.author)
    for name in ("rea", "rea.pub"):
        (desk.folder / name).unlink()
    approval.write_keys(desk.folder / "rea", key)
    said = forged(key, lambda body: body, plan=desk.staged.data, at=datetime.now(UTC))
    (desk.folder / "rea.approval.json").write_bytes(said.content)


def by_an_unknown_key(desk: Desk) -> None:
    desk.keys("mallory")
    desk.sign("mallory").replace(desk.folder / "rea.approval.json")


def newer_major(path: Path) -> None:
    text = path.read_text()
    assert '"1.0"' in text
    path.write_text(text.replace('"1.0"', '"2.0"', 1))


def taken(desk: Desk) -> None:
    out = Path(str(desk.staged.output))
    out.mkdir(parents=True)
    (out / "mine").write_text("mine")


def no_state(desk: Desk) -> None:
    newest = max((desk.staged.source / "state").rglob("*.zip"), key=lambda path: int(path.name.split("_")[0]))
    newest.unlink()


def full(desk: Desk) -> None:
    desk.disk = Refusing(desk, "write", errno.ENOSPC)


def denied(desk: Desk) -> None:
    desk.disk = Refusing(desk, "rename", errno.EACCES)


@dataclass(frozen=True)
class Bad:
    """One bad input."""

    make: Callable[[Desk], object]
    code: int
    told: str
    fix: str
    dry_run: bool = True
    """Whether the dry run ends in the same way: it asks for no approval, and writes nothing that could fail."""


BAD = {
    "plan edited after its approval": Bad(edited, 4, "the plan was edited since", "exactly as it was signed", False),
    "approval of another plan": Bad(other_plan, 4, "the approval of another plan", "exactly as it was signed", False),
    "approval expired": Bad(
        lambda desk: setattr(desk, "ahead", timedelta(days=60)), 4, "it expired at", "sign it again", False
    ),
    "approval by the author": Bad(by_the_author, 4, "author", "neither wrote nor edited it", False),
    "approval by an unknown key": Bad(by_an_unknown_key, 4, "one of the keys that the applier trusts", "sign", False),
    "replayed on another cluster": Bad(
        lambda desk: DRIFT["another new cluster"](desk.staged), 3, "cluster id: reviewed id-of-new, now other", "draft"
    ),
    "plan of a newer major version": Bad(
        lambda desk: newer_major(desk.plan), 1, "version 1.2, found version 2.0", "release of Offsetwise"
    ),
    "checkpoint moved on since": Bad(
        lambda desk: DRIFT["the query committed another batch"](desk.staged),
        3,
        "last committed batch",
        "draft the plan",
    ),
    "query still running": Bad(
        lambda desk: DRIFT["a query is running"](desk.staged), 3, "9.0000.tmp", "Stop the query"
    ),
    "output not empty": Bad(taken, 1, "expected an empty folder or none", "another output"),
    "output inside the source": Bad(
        lambda desk: setattr(desk.staged, "output", f"{desk.staged.source}/copy"), 1, "inside or around it", "beside it"
    ),
    "output outside the write roots": Bad(
        lambda desk: setattr(desk.staged, "output", str(desk.staged.folder.parent / "elsewhere")),
        1,
        "inside the write roots",
        "write_roots",
    ),
    "disk full": Bad(full, 1, "No space left on device", "Free space", False),
    "permission denied while the copy is published": Bad(denied, 1, "Permission denied", "write access", False),
    "state file missing": Bad(no_state, 1, "gone", "draft the plan"),
    "group active": Bad(
        lambda desk: DRIFT["the group has members"](desk.staged), 3, "reviewed Empty, now Stable", "every member"
    ),
    "group written by somebody else in between": Bad(
        lambda desk: DRIFT["somebody committed with the group"](desk.staged), 3, "reviewed 7, now 8", "draft the plan"
    ),
}


@with_cases("kind", BAD)
def test_a_bad_input_is_refused_and_leaves_everything_as_it_was(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "root", monkeypatch)
    bad = BAD[kind]
    bad.make(desk)
    output = Path(str(desk.staged.output))
    stood = files_of(output) if output.is_dir() else None
    source, group = tree_hash(desk.staged.source), desk.staged.groups.at()

    for more in ((), ("--execute",)):
        ran = desk.apply(*more, "--json")

        refused = bool(more) or bad.dry_run
        assert ran.code == (bad.code if refused else 0), ran.out + ran.err
        if refused:
            error = document(ran)
            assert bad.told in error["problem"]
            assert bad.fix in error["fix"]
            assert any(words in error["problem"] for words in ("Nothing was", "is as it was")), "what stands now"
        assert tree_hash(desk.staged.source) == source
        assert desk.staged.groups.at() == group
        assert desk.staged.groups.commits == []
        assert (files_of(output) if output.is_dir() else None) == stood
    assert not (desk.folder / "plan.receipt.json").exists()


def not_authorised(desk: Desk) -> None:
    desk.staged.groups.refuse = dict.fromkeys(desk.staged.groups.at(), "the user is not authorised")


def member_joins(desk: Desk) -> None:
    def joins(groups: Groups) -> None:
        groups.state = "Stable"

    desk.staged.groups.on_commit = joins
    desk.staged.groups.refuse = dict.fromkeys(desk.staged.groups.at(), "unknown member")


@with_cases(
    ("make", "told"),
    [(not_authorised, "the user is not authorised"), (member_joins, "unknown member")],
    ids=["permission denied", "a member joined"],
)
def test_what_fails_half_way_says_what_stands_and_is_taken_back_by_the_command_that_it_names(
    make: Callable[[Desk], None], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "root", monkeypatch)
    source, group = tree_hash(desk.staged.source), desk.staged.groups.at()
    make(desk)

    ran = desk.apply("--execute", "--json")

    assert ran.code == 1
    error = document(ran)
    assert told in error["problem"]
    assert f"Written before it: A copy of {desk.staged.source} is at {desk.staged.output}" in error["problem"]
    assert f"offsetwise rollback {desk.folder}/plan.receipt.json.journal" in error["fix"]
    assert desk.staged.groups.at() == group

    desk.staged.groups.state = "Empty"
    assert desk.on_receipt("rollback", "--execute", name="plan.receipt.json.journal").code == 0
    assert not Path(str(desk.staged.output)).exists()
    assert (tree_hash(desk.staged.source), desk.staged.groups.at()) == (source, group)


def test_a_partition_without_commit_before_keeps_the_new_one_and_the_rollback_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "root", monkeypatch, absent=(0,))
    first = desk.staged.plan.positions[0]
    assert desk.apply("--execute").code == 0

    ran = desk.on_receipt("rollback", "--execute", "--json")

    assert ran.code == 1, "not whole"
    copy, group = document(ran)["steps"]
    assert (copy["state"], group["state"]) == ("undone", "failed")
    assert f"{first.new_topic_partition} had no commit before" in group["told"]
    assert "--delete-offsets --group etl" in group["told"]


@with_cases(
    ("command", "name"),
    [
        ("sign", "plan.json"),
        ("export", "plan.json"),
        ("drift", "plan.json"),
        ("apply", "plan.json"),
        ("verify", "plan.receipt.json"),
        ("rollback", "plan.receipt.json"),
        ("rollback", "plan.receipt.json.journal"),
    ],
)
def test_no_command_takes_a_file_of_a_newer_major_version(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "root", monkeypatch)
    assert desk.apply("--execute").code == 0
    newer_major(desk.folder / name)
    before = desk.world()
    more = {
        "sign": ("--key", desk.folder / "rea", "--as", "rea", "--out", desk.folder / "again.json"),
        "export": ("--as", "starting-offsets"),
        "apply": ("--migration", desk.migration, "--output", str(desk.staged.output)),
        "rollback": ("--migration", desk.migration, "--plan", desk.folder / "plan.json", "--execute"),
    }.get(command, ("--migration", desk.migration))

    ran = call(command, desk.folder / name, *more, "--json")

    assert ran.code in (1, 4)
    newest = "1.2" if name == "plan.json" else "1.0"
    assert f"version {newest}, found version 2.0" in json.loads(ran.out)["problem"]
    assert desk.world() == before
