"""Installed without extras, the base does its work, and any other command says which extra to install."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from offsetwise.bundled import Bundled
from offsetwise.cli.errors import EXTRAS
from tests.docs_pages import ROOT
from tests.with_cases import with_cases

WITHOUT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS) | {"py4j", "s3fs", "gcsfs", "adlfs"}}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from offsetwise.cli import main
main()
"""
"""The command line where the packages of every extra are absent."""
MIGRATION = ("--migration", "migration.yaml")
READ = ("--snapshots", "old.json", "new.json")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Return a copy of the bundled sample."""
    return shutil.copytree(Bundled.SPARK.file("migration.yaml").parent, tmp_path / "sample")


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_job_is_inspected_compared_drafted_and_signed_without_any_extra(sample: Path) -> None:
    drafted = ("--comparison", "comparison-orders.json", "--target", "spark-checkpoint", "--author", "ada")
    for arguments in (
        ("inspect", "checkpoints/orders", "--json"),
        ("compare", *MIGRATION, "--checkpoint", "orders", *READ, "--json"),
        ("draft", *MIGRATION, "--checkpoint", "orders", *READ, *drafted, "--out", "plan.json"),
        ("keygen", "--out", "key", "--as", "bob"),
        ("sign", "plan.json", "--key", "key", "--as", "bob", "--out", "plan.approval.json"),
        ("export", "plan.json", "--as", "starting-offsets"),
        ("schema", "dry-run"),
        ("apply", "--help"),
    ):
        ran = call(sample, *arguments)
        assert ran.returncode == 0, ran.stderr


def test_what_begins_applies_and_verifies_is_imported_without_any_extra(sample: Path) -> None:
    code = WITHOUT.partition("from offsetwise")[0] + "import offsetwise.api.init, offsetwise.api.migration"
    code += ", offsetwise.cli.documents, offsetwise.cli.render.applied"
    ran = subprocess.run([sys.executable, "-c", code], cwd=sample, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


@with_cases(
    ("extra", "arguments"),
    [
        ("console", ("console",)),
        ("store", ("audit",)),
        ("spark", ("inspect", "checkpoints/orders", "checkpoints/payments", "a", "b")),
    ],
)
def test_a_command_says_which_extra_it_needs(sample: Path, extra: str, arguments: tuple[str, ...]) -> None:
    more = () if extra == "console" else ("--json",)
    ran = call(sample, *arguments, *more)

    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert f"pip install 'offsetwise[{extra}]'" in " ".join(ran.stderr.split())
    assert extra == "console" or json.loads(ran.stdout)["format"] == "offsetwise/error"


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(EXTRAS.values()) <= project["optional-dependencies"].keys()
