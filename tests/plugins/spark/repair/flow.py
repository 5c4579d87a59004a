"""A repair from its draft to its rollback, by the commands that people give."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.commands import Ran, call

Command = Callable[..., Ran]


def aged(folder: Path) -> Path:
    """Make every file in a folder an hour old, as those of a stopped query."""
    for path in sorted(folder.rglob("*")):
        os.utime(path, (path.stat().st_mtime - 3600, path.stat().st_mtime - 3600))
    return folder


def drafted(folder: Path, kind: str, out: Path, *more: str, by: Command = call) -> Ran:
    """Draft a repair, without a migration."""
    return by("draft", "--repair", kind, "--checkpoint", folder, "--author", "ada", "--out", out, "--json", *more)


def repaired(folder: Path, kind: str, work: Path, *more: str, by: Command = call) -> tuple[Path, dict[str, Any]]:
    """Draft, sign, try, apply and verify a repair, in this process or in ones of their own; give the copy and plan."""
    work.mkdir(exist_ok=True)
    body = drafted(folder, kind, work / "plan.json", *more, by=by).answered()
    return applied(work, by=by), body


def applied(work: Path, *, by: Command = call) -> Path:
    """Sign, try, apply and verify the plan of a repair; return the copy."""
    plan, key, copy = work / "plan.json", work / "rea", work / "copy"
    assert by("keygen", "--out", key, "--as", "rea").code == 0
    assert by("sign", plan, "--key", key, "--as", "rea", "--out", work / "approval.json").code == 0
    trial = by("apply", plan, "--output", copy)
    assert trial.code == 0, trial.err
    assert not copy.exists()
    ran = by(
        "apply", plan, "--output", copy, "--approval", work / "approval.json", "--trust", f"{key}.pub", "--execute"
    )
    assert ran.code == 0, ran.err
    assert by("verify", work / "plan.receipt.json").code == 0
    return copy


def taken_back(work: Path) -> Ran:
    """Roll the repair back."""
    return call("rollback", work / "plan.receipt.json", "--trust", work / "rea.pub", "--execute")
