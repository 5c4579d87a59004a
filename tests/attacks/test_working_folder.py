"""No code of the folder that a command is given in runs, whatever its modules are called."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Final

import pytest

import offsetwise
from tests.gates import of_all
from tests.with_cases import with_cases

WORK = """
import sys
from offsetwise.config import SparkSettings
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.pipeline.shipping import ship

spark = open_session(SparkSettings(master="local[1]"), kafka=False)
ship(spark)
same = lambda batches: batches
print(spark.range(10).mapInArrow(same, "id long").count(), sorted({name.partition(".")[0] for name in sys.modules}))
close_session()
"""
PLANTED = """
import os
with open(os.path.join({folder!r}, "ran-" + __name__), "a") as noted:
    noted.write("x")
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The names that Python, Spark's workers or Offsetwise may import."""
    folder = tmp_path_factory.mktemp("imported")
    used = subprocess.run([sys.executable, "-P", "-c", WORK], capture_output=True, text=True, cwd=folder, check=True)
    count, _, names = used.stdout.partition(" ")
    assert count == "10"
    others = {"psutil", "pandas", "numpy", "pyarrow", "zstandard", "sitecustomize", "usercustomize", "memory_profiler"}
    return frozenset({*eval(names), *sys.stdlib_module_names, *others})


@pytest.fixture
def planted(imported: frozenset[str], tmp_path: Path) -> Path:
    """A folder with a module of each of these names."""
    folder, ran = tmp_path / "folder", tmp_path / "ran"
    folder.mkdir()
    ran.mkdir()
    for name in imported:
        (folder / f"{name}.py").write_text(PLANTED.format(folder=str(ran)), encoding="utf-8")
    return folder


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder.parent / "ran").glob("ran-*"))


def test_a_command_runs_no_module_of_its_working_folder(planted: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}

    work = [sys.executable, "-P", "-c", WORK]
    done = subprocess.run(work, capture_output=True, text=True, cwd=planted, env=environment, check=False)

    assert ran(planted) == []
    assert done.stdout.startswith("10 "), done.stderr[-2_000:]


def test_python_itself_would_run_them(planted: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}

    subprocess.run([sys.executable, "-c", "import psutil"], cwd=planted, env=environment, check=False)

    assert ran(planted) == ["ran-psutil"]


AROUND: Final = (*product(("the working folder", "the folder above"), ("jars", "assembly"), (None, "")),)
"""Where a Spark lies, what it has, and what SPARK_HOME is."""


@with_cases(("where", "jars", "named"), of_all(AROUND, AROUND[:1]))
def test_a_command_starts_no_spark_that_lies_around_its_working_folder(
    where: str, jars: str, named: str | None, tmp_path: Path
) -> None:
    """PySpark takes the folder above for a Spark where it looks like one."""
    folder = tmp_path / "spark" / "python"
    home, noted = folder if where == "the working folder" else folder.parent, tmp_path / "ran"
    for part in (folder, home / "bin", home / jars):
        part.mkdir(parents=True, exist_ok=True)
    for script in ("spark-submit", "spark-class", "load-spark-env.sh", "find-spark-home"):
        (home / "bin" / script).write_text(f"#!/bin/sh\necho ran > {noted}\nexit 1\n", encoding="utf-8")
        (home / "bin" / script).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    environment |= {} if named is None else {"SPARK_HOME": named}

    work = [sys.executable, "-P", "-c", WORK]
    done = subprocess.run(work, capture_output=True, text=True, cwd=folder, env=environment, check=False)

    assert not noted.exists()
    assert done.stdout.startswith("10 "), done.stderr[-2_000:]


@with_cases(
    "work",
    [
        "with Lab.at(Path(sys.argv[1])).no_longer_than_this_process(): pass",
        "try:\n    with sample._job(Lab.at(Path(sys.argv[1]))): pass\nexcept LabError: pass",
    ],
    ids=["the watch over a lab", "the sample job"],
)
def test_a_lab_runs_no_module_of_its_working_folder(planted: Path, tmp_path: Path, work: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    lab = tmp_path / "lab"
    (lab / "logs").mkdir(parents=True)
    imports = "import sys\nfrom pathlib import Path\nfrom offsetwise.errors import LabError\n"
    imports += "from offsetwise.lab import Lab, sample\n"
    # Only the child is asked about; nothing listens where the job's broker would be.
    imports += "Lab.old_bootstrap = '127.0.0.1:1'\n"

    command = [sys.executable, "-P", "-c", imports + work, str(lab)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=planted, env=environment, check=False)

    assert done.returncode == 0, done.stderr[-2_000:]
    assert ran(planted) == []


def test_every_python_that_is_started_leaves_the_working_folder_out() -> None:
    started = re.compile(r"\[(?:sys\.executable|python), (.*)")
    sources = sorted(Path(offsetwise.__file__).parent.rglob("*.py"))

    starts = [(path.name, match[1]) for path in sources for match in started.finditer(path.read_text(encoding="utf-8"))]

    assert len(starts) >= 4
    assert [start for start in starts if not start[1].startswith('"-P"')] == []
