"""What the page on Python shows without clusters is what happens; `test_docs_runbook.py` runs the rest on two."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

import offsetwise
from offsetwise.bundled import Bundled
from tests.docs_pages import blocks, run_python, section


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that the page works in, a copy of the bundled sample."""
    shutil.copytree(Bundled.SPARK.file("migration.yaml").parent, tmp_path / "sample")
    monkeypatch.chdir(tmp_path / "sample")
    return tmp_path / "sample"


@pytest.mark.usefixtures("copied")
def test_the_recorded_sample_is_compared_and_drafted_as_shown() -> None:
    run_python(section("docs/python.md", "Compare without clusters"))


@pytest.mark.usefixtures("copied")
def test_the_checkpoints_of_the_sample_are_inspected_as_shown() -> None:
    run_python(section("docs/python.md", "Inspect many checkpoints"))


def test_the_readme_shows_what_there_is() -> None:
    (block,) = blocks(section("README.md", "From Python"), "python")
    used = {
        node.attr
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ow"
    }

    assert used <= set(offsetwise.__all__)
    assert "target_offset  # 950" in block


def test_every_public_name_has_a_docstring() -> None:
    silent = [name for name in offsetwise.__all__ if not getattr(offsetwise, name).__doc__]

    assert silent == []


def test_a_plan_that_is_not_saved_has_no_place_for_its_receipt(copied: Path) -> None:
    job = offsetwise.Migration.load(copied / "migration.yaml").checkpoint("orders")
    names = ("comparison-orders.json", "old.json", "new.json")
    plan = job.draft(
        offsetwise.targets.SparkCopy(),
        author="ada",
        comparison=offsetwise.load_comparison(*(copied / name for name in names)),
    )

    with pytest.raises(offsetwise.UsageError, match="Save the plan, or name the receipt"):
        plan.apply(output="applied/orders")
    plan.save("plan.json")
    with pytest.raises(offsetwise.UsageError, match="Load it with `migration=`"):
        offsetwise.Plan.load("plan.json").apply(output="applied/orders")
