"""Remedies of the status of a migration."""

from __future__ import annotations

import shutil

import yaml

import offsetwise as ow
from offsetwise.model import Finding
from offsetwise.status.findings import WholeCase, judge_whole
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_commands import instead, run, sample, snapshots
from tests.status.test_whole import CASES

FOLDER = "api/working_folder.py::_files"
COMMAND = "cli/status.py::_require_live_watch"


@walk(FOLDER, "Name the folder that `compare --out`")
def no_folder(scene: Scene) -> Steps:
    path = sample(scene)
    given = ("status", "-m", path, *snapshots(path))
    return Steps(run(*given, "--folder", scene.folder / "none"), lambda: None, run(*given))


@walk(FOLDER, "Name the folder of one migration")
def too_many_files(scene: Scene) -> Steps:
    path = sample(scene)
    folder, own = scene.folder / "all", scene.folder / "own"
    own.mkdir()
    folder.mkdir()
    for number in range(20_001):
        (folder / f"{number}.json").touch()
    given = ("status", "-m", path, *snapshots(path), "--folder")
    return Steps(run(*given, folder), lambda: shutil.rmtree(folder), run(*given, own))


@walk("api/status.py::_StatusReading.__init__", "Add them under `checkpoints`")
def status_of_no_job(scene: Scene) -> Steps:
    path = sample(scene)
    before = path.read_text(encoding="utf-8")
    body = yaml.safe_load(before)
    path.write_text(yaml.safe_dump({key: body[key] for key in ("name", "source", "target")}), encoding="utf-8")
    files = path.with_name("old.json"), path.with_name("new.json")
    return Steps(
        lambda: ow.Migration.load(path).status(snapshots=ow.load_snapshots(*files)) and None,
        lambda: path.write_text(before, encoding="utf-8"),
    )


instead(
    COMMAND,
    "Leave one of them out",
    "watch_of_files",
    lambda scene: (
        run("status", "-m", sample(scene), "--watch", *snapshots(sample(scene))),
        run("status", "-m", sample(scene), *snapshots(sample(scene))),
    ),
)
instead(
    COMMAND,
    "Add --watch",
    "metrics_of_one_look",
    lambda scene: (
        run("status", "-m", sample(scene), "--metrics-port", "0", *snapshots(sample(scene))),
        run("status", "-m", sample(scene), *snapshots(sample(scene))),
    ),
)


def found(code: str, case: WholeCase) -> tuple[Finding, ...]:
    """Return what one finding says of a migration."""
    return tuple(finding for finding in judge_whole(case) if finding.code == code)


def whole(code: str, words: str) -> None:
    """Add a walk from a migration that has a finding to the one that its remedy asks for."""
    shown, close, _ = CASES[code]
    name = code.lower()
    corrected(f"status/findings.py::{name}", words, name, lambda: found(code, shown), lambda: found(code, close))


whole("JOB_IN_TWO_WAVES", "Name the job in one of the waves only")
whole("JOB_IN_NO_WAVE", "or remove them from the migration file")
whole("WAVE_ORDER", "or a shorter `window`")
whole("PRODUCER_MISSES_READER", "Move the reader in the same wave or before")
whole("GROUP_SHARED", "Give one of them a group of its own")
whole("TOPIC_NOT_MIRRORED", "Mirror the topic")
whole("TOPIC_UNREAD", "Look for readers")
whole("WAVE_AFTER_RETENTION", "let the jobs read on until then")
