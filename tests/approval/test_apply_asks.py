"""`offsetwise apply --execute` asks for the approval first: without it exit code 4, nothing contacted or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from offsetwise import files
from offsetwise.approval import ApprovalFile, write_keys
from tests.approval.signed import ALICE, FILE, MALLORY, PLAN, RALPH, RITA, forged, said
from tests.commands import Ran, call
from tests.with_cases import with_cases

NOW = datetime.now(UTC)
Refusal = Callable[[], ApprovalFile | None]
MIGRATION = {
    "name": "orders-to-new",
    # Nothing listens here: a call that contacts a cluster ends with another error.
    "source": {"name": "old", "properties": {"bootstrap.servers": "127.0.0.1:1"}},
    "target": {"name": "new", "properties": {"bootstrap.servers": "127.0.0.1:2"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.json").write_bytes(FILE)
    (tmp_path / "migration.yaml").write_text(yaml.safe_dump(MIGRATION), encoding="utf-8")
    for name, key in (("rita", RITA), ("ralph", RALPH), ("alice", ALICE)):
        write_keys(tmp_path / name, key)
    return tmp_path


def apply(folder: Path, approval: ApprovalFile | None, *trust: str) -> Ran:
    given = []
    if approval is not None:
        (folder / "plan.approval.json").write_bytes(approval.content)
        given = ["--approval", str(folder / "plan.approval.json")]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for name in trust:
        given += ["--trust", str(folder / name)]
    ran = call("apply", folder / "plan.json", "-m", folder / "migration.yaml", *given, "--execute", "--json")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before, "nothing is written, a journal neither"
    return ran


def refused(ran: Ran, told: str) -> None:
    assert ran.code == 4, ran.err
    error = json.loads(ran.out)
    assert error["error"] == "NotApprovedError"
    assert told in error["problem"]
    assert error["problem"].endswith("Nothing was written.")
    assert error["fix"]
    assert "Traceback" not in ran.err


@with_cases(
    ("approval", "told"),
    [
        (lambda: None, "found none"),
        (lambda: said(MALLORY, at=NOW), "expected one of the keys that the applier trusts"),
        (lambda: said(plan=files.dump(replace(PLAN, rewind_to=1)).encode(), at=NOW), "the plan was edited since"),
        (lambda: said(at=NOW - timedelta(days=3)), "it expired at"),
        (lambda: said(at=NOW + timedelta(hours=1)), "clocks may differ"),
        (lambda: said(at=NOW, expires_in=timedelta(days=60)), "expected at most 30 days"),
        (lambda: said(subject="ralph", at=NOW), "Nobody signs for somebody else"),
        (lambda: forged(ALICE, lambda _: None, at=NOW), "expected somebody other than the plan's author"),
        (lambda: ApprovalFile(name="x", content=b"\x00"), "cannot be read"),
    ],
    ids=["none", "unknown key", "other plan", "expired", "future", "too long", "other name", "author", "garbled"],
)
def test_a_plan_that_is_not_approved_is_not_applied(folder: Path, approval: Refusal, told: str) -> None:
    refused(apply(folder, approval(), "rita.pub", "alice.pub"), told)


def test_a_plan_that_was_edited_after_the_approval_is_not_applied(folder: Path) -> None:
    approval = said(at=NOW)
    (folder / "plan.json").write_bytes(FILE + b"\n")

    refused(apply(folder, approval, "rita.pub"), "the plan was edited since")


def test_nobody_is_trusted_unless_the_applier_says_so(folder: Path) -> None:
    refused(apply(folder, said(at=NOW)), "expected a key that the applier trusts, found none")


def test_a_key_that_is_cut_off_is_no_key(folder: Path) -> None:
    (folder / "rita.pub").write_bytes((folder / "rita.pub").read_bytes()[:-40])

    refused(apply(folder, said(at=NOW), "rita.pub"), "cannot be read")


def test_one_of_two_is_not_enough(folder: Path) -> None:
    keys = [
        {"file": f"{n}.pub", "issuer": k.public.issuer, "subject": k.public.subject}
        for n, k in (("rita", RITA), ("ralph", RALPH))
    ]
    both = MIGRATION | {"approval": {"required": 2, "trusted_keys": keys}}
    (folder / "migration.yaml").write_text(yaml.safe_dump(both), encoding="utf-8")

    refused(apply(folder, said(at=NOW)), "expected the approval of 2 people whom the applier trusts, found 1")
    refused(apply(folder, said(at=NOW), "rita.pub"), "found keys of 1 person")


def test_an_approved_plan_goes_on_to_the_clusters(folder: Path) -> None:
    ran = apply(folder, said(at=NOW), "rita.pub")

    assert ran.code not in (0, 4)
    assert json.loads(ran.out)["error"] != "NotApprovedError"
