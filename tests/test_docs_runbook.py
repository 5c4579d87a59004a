"""The runbook and the pipeline are what happens: each command is run on two real clusters, and shows what they show."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from offsetwise.lab import Lab
from tests.commands import COMMAND, call
from tests.docs_pages import blocks, run_here, run_python, section, text, walk
from tests.stopped_job import END, Counts, read_as_stream, truth

PAGE = "docs/runbook.md"
APPLY = "Apply, if it is approved"


def tree(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def follow(*headings: str) -> None:
    for heading in headings:
        walk(section(PAGE, heading), run_here)


@pytest.fixture
def keyed(desk: Path) -> Path:
    """Return the folder with the reviewer's key in it."""
    assert call("keygen", "--out", "reviewer", "--as", "bob").code == 0
    return desk


def test_the_main_path_moves_a_stateful_job_and_the_failback_leads_back(
    lab: Lab, stopped: tuple[Path, Counts], desk: Path
) -> None:
    counts = dict(stopped[1])
    untouched = tree(desk / "checkpoints")
    follow("1. Look at the checkpoint", "2. Compare", "3. Draft the plan", "4. Have it signed", "5. Dry run")
    assert not (desk / "applied" / "trades").exists(), "until now nothing was written"
    follow("6. Apply", "7. Verify before the start")

    read_as_stream(lab.new_bootstrap, desk / "applied" / "trades", counts)

    assert counts == truth(END), "every record once"
    follow("8. Start the job, and verify again")
    assert tree(desk / "checkpoints") == untouched

    follow("After it: failback")


def test_before_the_job_starts_the_copy_is_taken_back(keyed: Path) -> None:
    follow("3. Draft the plan")
    assert call("sign", "plan.json", "--key", "reviewer", "--as", "bob", "--out", "plan.approval.json").code == 0
    follow("6. Apply", "Before the sink took a batch")

    assert not (keyed / "applied" / "trades").exists()


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("heading", ["In place", "A fresh checkpoint", "A consumer group"])
def test_the_other_ways_are_as_the_page_says(heading: str) -> None:
    follow(heading)


@pytest.mark.usefixtures("desk")
def test_the_same_is_done_from_python(lab: Lab) -> None:
    run_python(section("docs/python.md", "Begin"), OLD=lab.old_bootstrap, NEW=lab.new_bootstrap)
    run_python(section("docs/python.md", "Move a job") + section("docs/python.md", "A consumer group"))


class Pipeline:
    """The workflow of the page on automation, its steps run as a runner would: bash, one process each."""

    def __init__(self, folder: Path) -> None:
        (workflow,) = (each for each in blocks(text("docs/automation.md"), "yaml") if "jobs:" in each)
        body = yaml.safe_load(workflow)
        self.folder = folder
        self.jobs = {name: [step for step in job["steps"] if "run" in step] for name, job in body["jobs"].items()}
        path = os.pathsep.join([str(Path(COMMAND).parent), os.environ["PATH"]])
        self.environment = {**os.environ, **body["env"], "PATH": path, "AUTHOR": "ada"}

    def run(self, job: str, *, only: str | None = None) -> tuple[str, int]:
        """Run a job, or one step of it; give the name of the last step that was run, and its exit code."""
        name, code = "", 0
        for step in (each for each in self.jobs[job] if only in (None, each["name"])):
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            name, done = step["name"], subprocess.run(command, cwd=self.folder, env=self.environment, check=False)
            if code := done.returncode:
                break
        return name, code


def test_the_pipeline_applies_what_was_signed_and_nothing_else(keyed: Path) -> None:
    public = json.loads((keyed / "reviewer.pub").read_text(encoding="utf-8"))
    trusted = {"file": "reviewer.pub", "issuer": public["issuer"], "subject": public["subject"]}
    body = yaml.safe_load((keyed / "migration.yaml").read_text(encoding="utf-8"))
    body["approval"] = {"required": 1, "trusted_keys": [trusted]}
    (keyed / "migration.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    pipeline = Pipeline(keyed)
    assert pipeline.run("plan") == ("Say what would be signed", 0)
    sign = ("sign", "plan.json", "--key", "reviewer", "--as", "bob", "--out", "plan.approval.json")
    assert call(*sign).code == 0
    plan = (keyed / "plan.json").read_bytes()

    (keyed / "plan.json").write_bytes(plan + b"\n")
    assert pipeline.run("apply", only=APPLY) == (APPLY, 4)
    assert not (keyed / "applied" / "trades").exists()
    assert json.loads((keyed / "applied.json").read_text(encoding="utf-8"))["error"] == "NotApprovedError"

    (keyed / "plan.json").write_bytes(plan)
    assert pipeline.run("apply") == ("Verify what was written", 0)
    verified = json.loads((keyed / "verification.json").read_text(encoding="utf-8"))
    assert [(each["found"], each["turnout"]) for each in verified["positions"]] == [("950", "CONFIRMED")]
