"""The product without the folders of Spark and Flink: what they bring is absent, and all else works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from offsetwise.builtin import PLUGINS
from offsetwise.registry import ENGINES, STREAMS, Registry

ROOT = Path(__file__).parents[2]
AWAY = ("spark", "flink")
TESTS = (
    "approval/test_people.py",
    "clusters",
    "engines/test_files_of_engines.py",
    "pipeline/test_answers.py",
    "pipeline/test_class_archive.py",
    "pipeline/test_shipping.py",
    "plugins/connect",
    "plugins/kafka",
    "plugins/kinesis/targets/test_proofs_of_shards.py",
    "plugins/kinesis/test_behind.py",
    "plugins/kinesis/test_lease_tables.py",
    "plugins/kinesis/test_positions.py",
    "plugins/kinesis/test_search.py",
    "plugins/kinesis/test_shards.py",
    "plugins/kinesis/test_taken_apart.py",
    "plugins/kinesis/test_unkeyed.py",
    "plugins/positions",
    "status/test_whole.py",
    "storage/test_dynamodb_dialects.py",
    "store",
    "streams",
    "survey/test_naming.py",
    "test_client_properties.py",
    "test_config.py",
    "test_cutover.py",
    "test_garbage.py",
    "test_jars.py",
    "test_lag.py",
    "test_looks.py",
    "test_lookalikes.py",
    "test_position.py",
    "test_property_files.py",
    "test_waves.py",
    "transactions/test_names.py",
    "translation",
)
"""Tests of the core and of other plug-ins, folders and files, none of which reads a checkpoint of Spark or Flink."""
OF_SPARK = ("tests.apply", "tests.plan.scene", "tests.plan import scene", "tests.findings.cases")
"""Helpers whose jobs are Spark's: what uses them needs Spark, whatever it is about."""
OF_SAMPLE = "tests/plugins/connect/test_survey.py::test_an_update_adds_what_has_appeared_and_keeps_comments"
"""The bundled checkpoints, which it finds too, are Spark's."""
ABSENT = "This installation is without the plug-ins spark and flink of Offsetwise"
SCREENS = """
from pathlib import Path
from streamlit.testing.v1 import AppTest

for page in sorted(Path("pages").glob("*/*.py")):
    screen = AppTest.from_file(str(Path("app.py").resolve()), default_timeout=120).run().switch_page(str(page)).run()
    text = " ".join(box.value for box in (*screen.error, *screen.info, *screen.markdown)).replace(chr(92), "")
    print(page.stem, len(screen.exception), text.count("without the plug-ins spark and flink"))
"""
"""Opens every screen of the console over the bundled sample, whose jobs are Spark's."""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run Python in a copy of the tree without the folders."""
    copy = tmp_path_factory.mktemp("without") / "tree"
    for name in ("lib", "tests", "tools", "docs", "pages", ".streamlit"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "app.py"):
        shutil.copy(ROOT / name, copy)
    for name in AWAY:
        shutil.rmtree(copy / "lib" / "offsetwise" / "plugins" / name)
    paths = f"{copy / 'lib'}{os.pathsep}{copy}"

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return ran


def brought_without(registry: Registry, *plugins: str) -> list[str]:
    """Return the names that others than these plug-ins register."""
    return [name for name in registry if registry[name].__module__.split(".")[2] not in plugins]


def offsetwise(run: Run, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("-c", "from offsetwise.cli import main; main()", *arguments)


def test_targets_of_the_others_are_listed_and_drafted_and_no_repair_is(run: Run, tmp_path: Path) -> None:
    sample, job = Path("lib/offsetwise/sample_kinesis"), "orders-app"
    of_job = ("--migration", f"{sample}/migration.yaml", "--checkpoint", job, "--target", f"kcl-leases:{job}")
    snapshots = ("--snapshots", f"{sample}/old.json", f"{sample}/new.json")
    read = ("--comparison", f"{sample}/comparison-{job}.json", *snapshots)
    repair = ("--checkpoint", f"{sample}/checkpoints/orders-query", "--set", "repair=restore-topic")
    made = ("--author", "ada", "--out", str(tmp_path / "plan.json"))
    listed = offsetwise(run, "targets")

    assert listed.returncode == 0, listed.stderr
    assert "consumer-group:NAME" in listed.stdout
    assert "kcl-leases:NAME" in listed.stdout
    assert not [name for name in AWAY if name in listed.stdout]
    assert ABSENT in listed.stderr

    refused = offsetwise(run, "draft", *repair, *made)
    drafted = offsetwise(run, "draft", *of_job, *read, *made)

    assert drafted.returncode == 0, drafted.stderr
    assert json.loads((tmp_path / "plan.json").read_text())["targets"] == [{"kind": "kcl-leases", "group": job}]
    assert refused.returncode == 1
    assert "expected no repair, since no installed plug-in has one; found 'restore-topic'" in refused.stderr
    assert ABSENT in refused.stderr


def test_a_checkpoint_of_one_that_is_absent_is_refused_with_what_can_be_read(run: Run) -> None:
    sample = "lib/offsetwise/sample/checkpoints/orders"
    refused = offsetwise(run, "inspect", sample)

    assert refused.returncode == 1
    assert f"{sample}: expected one checkpoint of KCL, " in refused.stderr
    assert not re.search("Spark|Flink", refused.stderr.partition("expected")[2].partition("found")[0])
    assert ABSENT in refused.stderr


def test_a_plan_with_a_target_of_one_that_is_absent_is_refused_with_its_name(run: Run) -> None:
    plan = "tests/data/receipts/copy/plan.json"
    refused = offsetwise(run, "drift", plan, "--migration", "lib/offsetwise/sample/migration.yaml")

    assert refused.returncode == 1
    assert "targets.0.kind is wrong: expected one of at-timestamp" in refused.stderr
    assert ABSENT in refused.stderr


def test_a_migration_file_with_a_key_of_one_that_is_absent_is_refused_with_its_name(run: Run, tmp_path: Path) -> None:
    clusters = "".join(
        f"{side}: {{properties: {{bootstrap.servers: '{side}:9092'}}}}\n" for side in ("source", "target")
    )
    path = tmp_path / "migration.yaml"
    load = "import sys; from pathlib import Path; from offsetwise.config import load_migration as load; "
    shown = "print(load(Path(sys.argv[1])).checkpoints[0].job.stateful)"

    path.write_text(f"name: a\n{clusters}checkpoints: [{{name: a, uri: b, job: {{stateful: true, sql: true}}}}]\n")
    refused = offsetwise(run, "compare", "--migration", str(path), "--checkpoint", "a")
    path.write_text(path.read_text().replace(", sql: true", ""))

    assert refused.returncode == 1
    assert "checkpoints.0.job has the unknown key 'sql'" in refused.stderr
    assert ABSENT in refused.stderr
    assert run("-c", load + shown, str(path)).stdout == "True\n"


def test_every_screen_opens_and_those_that_need_an_absent_one_name_it(run: Run) -> None:
    opened = run("-c", SCREENS)

    assert opened.returncode == 0, opened.stderr[-4000:]
    screens = {name: rest for name, *rest in map(str.split, opened.stdout.splitlines())}
    assert len(screens) == len([*(ROOT / "pages").glob("*/*.py")])
    assert {exceptions for exceptions, _ in screens.values()} == {"0"}
    assert {name for name, (_, named) in screens.items() if named != "0"} >= {
        *("overview", "checkpoint", "compare", "lag", "draft", "fleet")
    }


def test_what_workers_need_is_packed_and_finds_the_other_engines(run: Run) -> None:
    pack = (
        "import shutil; from offsetwise.pipeline.shipping import keep_archive, shipped_files; "
        "shutil.copy(keep_archive(shipped_files()), 'w.zip')"
    )
    packed = run("-c", pack)
    listed = run(
        "-c",
        "import sys; sys.path.insert(0, 'w.zip'); from offsetwise.engines.registry import registered; "
        "print(*(engine.name for engine in registered()))",
    )

    assert packed.returncode == 0, packed.stderr
    assert listed.stdout.split() == brought_without(ENGINES, *AWAY), listed.stderr


WITHOUT_KINESIS = """
from importlib import util

find = util.find_spec
util.find_spec = lambda name, *package: None if name == "offsetwise.plugins.kinesis" else find(name, *package)
from offsetwise.registry import ABSENT, ENGINES, STREAMS, TARGETS, absent_plugins

print(*ENGINES, "|", *STREAMS, "|", *ABSENT, "|", absent_plugins())
assert not [name for name in TARGETS if "kcl" in name or "spark" in name or "flink" in name]
"""


def test_what_needs_an_absent_one_is_absent_too_and_all_are_named() -> None:
    listed = subprocess.run([sys.executable, "-c", WITHOUT_KINESIS], capture_output=True, text=True, check=True)

    engines, streams, absent, sentence = (part.strip() for part in listed.stdout.split("|"))
    assert set(absent.split()) == {"kinesis", *(name for name, (_, needs) in PLUGINS.items() if "kinesis" in needs)}
    assert engines.split() == brought_without(ENGINES, *absent.split())
    assert streams.split() == brought_without(STREAMS, *absent.split())
    assert all(name in sentence for name in absent.split())


@pytest.mark.proof
def test_the_tests_of_the_core_and_of_other_plug_ins_pass(run: Run) -> None:
    paths = [ROOT / "tests" / name for name in TESTS]
    files = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    chosen = [str(file.relative_to(ROOT)) for file in files if not any(map(file.read_text().__contains__, OF_SPARK))]
    options = ("-q", "-p", "no:cacheprovider", "--tb=line", "-m", "not proof and not gates", "--deselect", OF_SAMPLE)
    ran = run("-m", "pytest", *options, *chosen)

    assert ran.returncode == 0, ran.stdout[-4000:]
    assert int(ran.stdout.split(" passed")[0].rpartition("\n")[2].rpartition(" ")[2]) > 650
