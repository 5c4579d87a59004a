"""The product without the folders of Spark and Flink: what they bring is absent, and all else works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AWAY = ("spark", "flink")
TESTS = ("translation", "store", "clusters", "plugins/kafka", "plugins/positions", "plugins/connect")
"""Folders of tests of the core and of other plug-ins, none of which reads a checkpoint of Spark or Flink."""
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


def offsetwise(run: Run, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("-c", "from offsetwise.cli import main; main()", *arguments)


def test_targets_of_the_others_are_listed(run: Run) -> None:
    listed = offsetwise(run, "targets")

    assert listed.returncode == 0, listed.stderr
    assert "consumer-group:NAME" in listed.stdout
    assert "kcl-leases:NAME" in listed.stdout
    assert not [name for name in AWAY if name in listed.stdout]
    assert ABSENT in listed.stderr


def test_a_checkpoint_of_one_that_is_absent_is_refused_with_what_can_be_read(run: Run) -> None:
    sample = "lib/offsetwise/sample/checkpoints/orders"
    refused = offsetwise(run, "inspect", sample)

    assert refused.returncode == 1
    assert f"{sample}: expected one checkpoint of KCL, positions file or Kafka Connect" in refused.stderr
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
        "from pathlib import Path; from offsetwise.pipeline.shipping import write_archive; write_archive(Path('w.zip'))"
    )
    packed = run("-c", pack)
    listed = run(
        "-c",
        "import sys; sys.path.insert(0, 'w.zip'); from offsetwise.engines.registry import registered; "
        "print(*(engine.name for engine in registered()))",
    )

    assert packed.returncode == 0, packed.stderr
    assert listed.stdout.split() == ["kcl", "positions", "connect", "group"], listed.stderr


@pytest.mark.proof
def test_the_tests_of_the_core_and_of_other_plug_ins_pass(run: Run) -> None:
    files = [file for name in TESTS for file in (ROOT / "tests" / name).rglob("test_*.py")]
    chosen = [str(file.relative_to(ROOT)) for file in files if not any(map(file.read_text().__contains__, OF_SPARK))]
    options = ("-q", "-p", "no:cacheprovider", "--tb=line", "-m", "not proof and not gates", "--deselect", OF_SAMPLE)
    ran = run("-m", "pytest", *options, *chosen)

    assert ran.returncode == 0, ran.stdout[-4000:]
    assert int(ran.stdout.split(" passed")[0].rpartition("\n")[2].rpartition(" ")[2]) > 400
