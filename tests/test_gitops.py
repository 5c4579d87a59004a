"""The pipeline for GitOps: its scripts are run as they are, and its workflow runs nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import offsetwise as ow
from tests.apply.sets import write_set
from tests.commands import COMMAND, call
from tests.plugins.spark.folders import write
from tests.plugins.spark.repair.flow import aged, drafted
from tests.plugins.spark.repair.test_repairs import DAMAGED

FOLDER: Final = Path(__file__).parents[1] / "docs" / "examples" / "gitops"
SAMPLE: Final = Path(ow.__file__).parent / "sample"
KIND: Final = "drop-batch-after-gap"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the sample's migration file, and the scripts where the workflow has them."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in ("migration.yaml", "checkpoints", "old.json", "new.json"):
        copied = shutil.copytree if (SAMPLE / name).is_dir() else shutil.copy
        copied(SAMPLE / name, folder / name)
    shutil.copytree(FOLDER, folder / "gitops")
    return folder


def run(folder: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line as a step of the workflow runs it, in the folder of the repository."""
    path = os.pathsep.join([str(folder / "bin"), str(Path(COMMAND).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def nightly(repository: Path) -> int:
    return run(repository, "gitops/nightly.sh --snapshots old.json new.json").returncode


def commit(repository: Path, more: int) -> None:
    """Let the sample's group commit a later offset of one partition."""
    path = repository / "old.json"
    body = json.loads(path.read_text(encoding="utf-8"))
    offset = body["groups"][0]["offsets"][0]
    offset["offset"] = str(int(offset["offset"]) + more)
    path.write_text(json.dumps(body), encoding="utf-8")


def test_the_nightly_comparison_reports_what_changed_and_only_then(repository: Path) -> None:
    report = repository / "report.md"
    assert nightly(repository) == 0
    assert report.read_text(encoding="utf-8") == "The first comparison: nothing to compare it with.\n"
    first = (repository / "compared" / "summary.json").read_bytes()

    assert nightly(repository) == 0
    assert not report.exists(), "nothing changed"
    assert (repository / "compared" / "summary.json").read_bytes() == first, "no commit without a change"

    commit(repository, -10)
    assert nightly(repository) == 0
    text = report.read_text(encoding="utf-8")
    assert text.startswith("## `fleet-comparison`: `compared` → `compared.new`\n")
    assert "| `group orders-etl` `orders-0` | old offset | 1,000 | 990 |" in text
    assert json.loads((repository / "compared" / "group-orders-etl.json").read_text())["partitions"]
    assert sorted(path.name for path in repository.iterdir()) == sorted(
        ["checkpoints", "compared", "gitops", "migration.yaml", "new.json", "old.json", "report.md"]
    )


def test_a_job_that_cannot_be_compared_fails_the_night_and_is_reported(repository: Path) -> None:
    assert nightly(repository) == 0
    shutil.rmtree(repository / "checkpoints" / "payments")

    assert nightly(repository) == 1

    text = (repository / "report.md").read_text(encoding="utf-8")
    assert re.search(r"\| `checkpoint payments` \| unread problem \| – \| `[^|]*payments[^|]*` \|", text)


def test_a_night_without_clusters_changes_nothing(repository: Path) -> None:
    assert nightly(repository) == 0
    before = (repository / "compared" / "summary.json").read_bytes()

    assert run(repository, "gitops/nightly.sh --snapshots old.json gone.json").returncode == 1

    assert (repository / "compared" / "summary.json").read_bytes() == before
    assert not (repository / "report.md").exists()


GH: Final = """#!/bin/sh
# Records how it was called; `gh` itself needs a server of GitHub.
echo "$@" >> "$GH_CALLS"
case "$1 $2" in
  "pr list") cat "$GH_OPEN" ;;
  "pr create" | "pr edit") for last in "$@"; do :; done; cp "$last" "$GH_BODY" ;;
esac
"""


def test_what_changed_is_proposed_on_one_branch(repository: Path, tmp_path: Path) -> None:
    git = "git -c user.name=a -c user.email=a@example.org"
    remote, calls, opened, body = (tmp_path / name for name in ("remote.git", "calls", "open", "body"))
    (repository / "bin").mkdir()
    (repository / "bin" / "gh").write_text(GH, encoding="utf-8")
    (repository / "bin" / "gh").chmod(0o755)
    environment = {"GH_CALLS": str(calls), "GH_OPEN": str(opened), "GH_BODY": str(body)}
    environment |= {
        f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    prepare = f"git init -q --bare {remote} && git init -q -b main && {git} add migration.yaml && {git} commit -qm a"
    assert run(repository, f"{prepare} && git remote add origin {remote}").returncode == 0
    opened.write_text("0\n", encoding="utf-8")
    assert nightly(repository) == 0

    proposed = run(repository, "gitops/propose.sh", **environment)

    assert proposed.returncode == 0, proposed.stderr
    shown = run(repository, f"git -C {remote} show --stat --format=%s offsetwise/nightly").stdout
    assert shown.startswith("Offsetwise: what changed\n")
    assert "compared/summary.json" in shown
    assert "migration.yaml" not in shown
    assert body.read_text(encoding="utf-8") == (repository / "report.md").read_text(encoding="utf-8")
    assert [line.split()[1] for line in calls.read_text().splitlines()] == ["list", "create"]

    run(repository, "git switch -q main")
    commit(repository, -10)
    opened.write_text("1\n", encoding="utf-8")
    assert nightly(repository) == 0
    assert run(repository, "gitops/propose.sh", **environment).returncode == 0
    assert [line.split()[1] for line in calls.read_text().splitlines()][2:] == ["list", "edit"]
    assert run(repository, f"git -C {remote} for-each-ref").stdout.count("\n") == 1, "one branch"


@pytest.fixture
def plan(repository: Path, tmp_path: Path) -> Path:
    """A plan that repairs a recorded checkpoint, for which no cluster is asked, and a reviewer's key beside it."""
    damaged = aged(write(DAMAGED[KIND], tmp_path / "damaged"))
    (repository / "plans").mkdir()
    path = repository / "plans" / "orders.json"
    assert drafted(damaged, KIND, path).code == 0
    assert call("keygen", "--out", tmp_path / "rea", "--as", "rea").code == 0
    return path


@pytest.mark.gates
def test_a_plan_is_applied_where_it_is_approved_and_verified(plan: Path, repository: Path, tmp_path: Path) -> None:
    line = f"gitops/apply.sh plans/orders.json --trust {tmp_path / 'rea.pub'}"
    output = {"OUTPUT": str(tmp_path / "applied")}
    (tmp_path / "applied").mkdir()
    copy = tmp_path / "applied" / "orders"

    assert run(repository, line, **output).returncode == 4, "nobody approved it"
    assert not copy.exists()

    sign = ("sign", plan, "--key", tmp_path / "rea", "--as", "rea", "--out", plan.with_name("orders.approval.json"))
    assert call(*sign).code == 0
    applied = run(repository, line, **output)
    assert applied.returncode == 0, applied.stderr
    assert (copy / "offsets").is_dir()
    assert plan.with_name("orders.receipt.json").is_file()
    assert "\n2 CONFIRMED. " in applied.stdout

    assert run(repository, line, **output).returncode == 0, "the same again finds its receipt"

    shutil.rmtree(copy / "offsets")
    assert run(repository, line, **output).returncode != 0, "what was written is verified each time"


def test_every_plan_of_an_approved_set_is_applied_and_verified(plan: Path, repository: Path, tmp_path: Path) -> None:
    other = plan.with_name("payments.json")
    assert drafted(aged(write(DAMAGED[KIND], tmp_path / "other")), KIND, other).code == 0
    home = repository / "wave"
    home.mkdir()
    contents = {"checkpoint orders": plan.read_bytes(), "checkpoint payments": other.read_bytes()}
    write_set(home, contents, migration=json.loads(plan.read_text(encoding="utf-8"))["migration"])
    line = f"gitops/apply.sh wave/plan-set.json --trust {tmp_path / 'rea.pub'}"
    output = {"OUTPUT": str(tmp_path / "applied")}
    (tmp_path / "applied").mkdir()

    refused = run(repository, line, **output)
    assert refused.returncode == 1, "nobody approved it"
    assert refused.stderr.count("expected the approval of 1 person") == 2
    assert "expected a receipt" not in refused.stderr
    assert not any((tmp_path / "applied").iterdir())

    approval = home / "plan-set.approval.json"
    assert call("sign", home, "--key", tmp_path / "rea", "--as", "rea", "--out", approval).code == 0
    applied = run(repository, line, **output)
    assert applied.returncode == 0, applied.stderr
    copies = sorted((tmp_path / "applied" / "plan-set").iterdir())
    assert [copy.name for copy in copies] == ["checkpoint-orders", "checkpoint-payments"]
    assert applied.stdout.count("CONFIRMED") >= 2

    assert run(repository, line, **output).returncode == 0, "the same again finds what was applied"
    shutil.rmtree(copies[1] / "offsets")
    assert run(repository, line, **output).returncode != 0, "each is verified each time"


def workflow() -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load((FOLDER / "offsetwise.yml").read_text(encoding="utf-8"))
    return body


def test_the_workflow_runs_the_scripts_and_nothing_else() -> None:
    lines = [step["run"] for job in workflow()["jobs"].values() for step in job["steps"] if "run" in step]

    assert lines == ["gitops/nightly.sh", "gitops/propose.sh", 'gitops/apply.sh "$FILE"']
    assert {line.split()[0].removeprefix("gitops/") for line in lines} == {path.name for path in FOLDER.glob("*.sh")}


def test_the_page_names_every_file_of_the_pipeline() -> None:
    page = (FOLDER.parents[1] / "automation.md").read_text(encoding="utf-8")

    assert set(re.findall(r"\(examples/gitops/([^)]+)\)", page)) == {path.name for path in FOLDER.iterdir()}
