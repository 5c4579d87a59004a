"""What the project promises before anything of it runs: extras, pinned versions, the licence, two commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import offsetwise
from tests.with_cases import with_cases
from tools import code_size

ROOT = Path(__file__).parent.parent
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = WHOLE["project"]
EXTRAS = ("spark", "store", "screens", "console", "postgres", "kinesis", "s3", "gcs", "azure", "lab", "all", "dev")
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^(\S+)==(\S+)", (ROOT / "locks" / "packages.txt").read_text("utf-8"), flags=re.M)
}
STAMPS = (
    "bin/uv",
    ".console",
    ".pyspark",
    ".package",
    ".jars",
    ".browser",
    ".postgres",
    ".flink",
    ".emulators",
    ".sparks",
    "spark.jsa",
)


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def wanted(requirements: list[str], extra: str = "") -> list[Requirement]:
    parsed = map(Requirement, requirements)
    return [each for each in parsed if each.marker is None or each.marker.evaluate({"extra": extra})]


def named() -> list[Requirement]:
    """Return what pyproject.toml names itself, for a user and in every extra."""
    extras = PROJECT["optional-dependencies"]
    every = wanted([*PROJECT["dependencies"], *(each for extra in EXTRAS for each in extras[extra])])
    return [each for each in every if each.name != PROJECT["name"]]  # an extra may name others


def test_the_package_has_its_extras_its_command_and_its_licence() -> None:
    assert (PROJECT["name"], Path(offsetwise.__file__).parent) == ("offsetwise", ROOT / "lib" / "offsetwise")
    assert tuple(PROJECT["optional-dependencies"]) == EXTRAS
    (command,) = entry_points(group="console_scripts", name="offsetwise")
    assert command.load() is not None
    assert PROJECT["license"] == "Apache-2.0"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").split(maxsplit=4)[:4] == [
        "Apache",
        "License",
        "Version",
        "2.0,",
    ]


def test_no_module_is_longer_than_400_lines_and_no_folder_has_more_than_20_modules() -> None:
    modules = sorted((ROOT / "lib").rglob("*.py"))
    held = Counter(each.parent for each in modules)

    assert [str(each) for each in modules if each.read_text(encoding="utf-8").count("\n") > code_size.LINES] == []
    assert [str(each) for each, count in held.items() if count > code_size.MODULES] == []


@with_cases("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_versions_and_hashes_and_nothing_else(lock: Path) -> None:
    package = r"[A-Za-z0-9._\[\]-]+==[A-Za-z0-9.+!]+( ; [a-z_]+ (==|!=) '\w+'( (and|or) [a-z_]+ (==|!=) '\w+')*)?"
    text = lock.read_text(encoding="utf-8").replace(" \\\n   ", "")

    for line in text.splitlines():
        assert re.fullmatch(rf"{package}( --hash=sha256:[0-9a-f]{{64}})+", line), line


def test_every_version_that_is_installed_is_pinned() -> None:
    assert [each.name for each in named() if canonicalize_name(each.name) not in PINNED] == []

    seen: set[tuple[str, str]] = set()
    found: dict[str, str] = {}
    left = [(each.name, extra) for each in named() for extra in ("", *each.extras)]
    while left:
        name, extra = left.pop()
        metadata = installed(name)
        if metadata is None or (name, extra) in seen:
            continue
        seen.add((name, extra))
        found[canonicalize_name(name)] = metadata.version
        needed = wanted(metadata.requires or [], extra)
        left += [(each.name, more) for each in needed for more in ("", *each.extras)]

    assert {name: version for name, version in found.items() if PINNED.get(canonicalize_name(name)) != version} == {}
    assert len(found) > 100


@with_cases("name", ["console", "spark", "uv"])
def test_a_lock_of_a_part_pins_what_the_whole_one_pins(name: str) -> None:
    lines = (ROOT / "locks" / "packages.txt").read_text("utf-8").replace(" \\\n   ", "").splitlines()
    part = (ROOT / "locks" / f"{name}.txt").read_text("utf-8").replace(" \\\n   ", "").splitlines()

    assert {line.partition(" ;")[0].partition(" --")[0] for line in part} <= {
        line.partition(" ;")[0].partition(" --")[0] for line in lines
    }
    hashes = {word for line in lines for word in line.split() if word.startswith("--hash")}
    assert {word for line in part for word in line.split() if word.startswith("--hash")} <= hashes


@pytest.fixture
def set_up(tmp_path: Path) -> Path:
    """A checkout in which every step of the set-up is done."""
    finders = [f"tools/find-{name}" for name in ("browser", "postgres", "emulators")]
    fetchers = ["tests/integration/flink_distribution.py", "tests/plugins/spark/live/spark_versions.py"]
    needed = (*finders, *fetchers, "lib/offsetwise/jars.lock", "tests/quick_spark.py")
    locks = [str(lock.relative_to(ROOT)) for lock in (*LOCKS, *(ROOT / "locks" / "emulators").iterdir())]
    for name in ("Makefile", "pyproject.toml", *locks, *needed):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("bin/pip", *STAMPS):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def would_run(folder: Path, *goals: str) -> list[str]:
    # A make that runs these tests tells a make below it about itself.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    command = ["make", "--dry-run", *goals]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@with_cases("goals", [(), ("console",)], ids=["make", "make console"])
def test_a_second_make_opens_the_console_and_does_nothing_else(goals: tuple[str, ...], set_up: Path) -> None:
    assert would_run(set_up, *goals) == [".venv/bin/offsetwise console"]


def test_a_second_make_test_runs_the_tests_and_does_nothing_else(set_up: Path) -> None:
    for goal in ("test", "proof"):
        (command,) = would_run(set_up, goal)
        assert command.startswith(".venv/bin/pytest")


def test_the_console_is_set_up_without_what_only_tests_need(set_up: Path) -> None:
    shutil.rmtree(set_up / ".venv")
    steps = would_run(set_up, "console")

    assert [step for step in steps if "-r locks/console.txt" in step] != []
    needed_by_tests = ("prefetch", "find-browser", "find-postgres", "flink", "emulators", "spark", "packages.txt")
    assert not any(word in step for step in steps for word in needed_by_tests)


def test_what_the_set_up_says_stands_before_each_step_and_counts_what_its_lock_names(set_up: Path) -> None:
    shutil.rmtree(set_up / ".venv")
    steps = would_run(set_up, "test")
    begins = {
        "-m venv": r"1 of 3: .* environment in \.venv",
        "locks/uv.txt": r"2 of 3: .*\buv",
        "locks/console.txt": r"3 of 3: (\d+) packages",
        "locks/spark.txt": r"PySpark: (\d+) packages",
        "locks/packages.txt": r"What the tests need: (\d+) packages",
    }
    said = [(at, step) for at, step in enumerate(steps) if step.startswith("echo ")]
    assert len(said) == len(begins)
    for (at, step), (command, words) in zip(said, begins.items(), strict=True):
        ran = subprocess.run(["sh", "-c", step], cwd=set_up, capture_output=True, text=True, check=True)
        message = re.match(words, ran.stdout)
        assert message is not None, ran.stdout
        runs = [later for later, other in enumerate(steps) if command in other and (later, other) not in said]
        assert runs != []
        assert min(runs) > at
        if message.groups():
            lines = (ROOT / command).read_text(encoding="utf-8").replace(" \\\n   ", "").splitlines()
            names = {line.partition("==")[0] for line in lines}
            assert int(message[1]) == len(names)


DEBIAN = pytest.mark.skipif(not Path("/etc/debian_version").exists(), reason="elsewhere nothing is installed")


def found_browser(folder: Path, **scripts: str) -> subprocess.CompletedProcess[str]:
    """Look for a browser on a machine whose only commands are these."""
    for name, script in {"id": "echo 1000", **scripts}.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "bash").symlink_to(str(shutil.which("bash")))
    command = [ROOT / "tools" / "find-browser"]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


@DEBIAN
def test_what_only_tests_need_is_installed_where_sudo_asks_for_no_password(tmp_path: Path) -> None:
    asked = tmp_path / "asked"

    ran = found_browser(tmp_path, sudo=f'echo "$@" >>{asked}')

    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"^--non-interactive .*apt-get install .*chromium", asked.read_text(), flags=re.MULTILINE)


def test_where_nothing_may_be_installed_the_command_is_told(tmp_path: Path) -> None:
    ran = found_browser(tmp_path, sudo="exit 1")

    assert ran.returncode == 1
    assert "need Chromium, found none on the PATH. No test was run." in ran.stderr
    assert "apt-get install chromium" in ran.stderr


@with_cases("goal", ["sample", "sample-flink"])
def test_a_sample_is_recorded_anew_by_one_command_that_stops_its_lab(goal: str, set_up: Path) -> None:
    *recording, stopping = would_run(set_up, goal)

    scripts = [script for step in recording for script in re.findall(r"tools/\w+\.py", step)]
    assert scripts
    assert all((ROOT / script).is_file() for script in scripts)
    assert "offsetwise lab down" in stopping


def test_the_sample_of_streams_is_recorded_anew_by_one_command(set_up: Path) -> None:
    (recording,) = would_run(set_up, "sample-kinesis")

    (script,) = re.findall(r"tools/\w+\.py", recording)
    assert (ROOT / script).is_file()


def test_types_are_checked_strictly() -> None:
    assert WHOLE["tool"]["mypy"]["strict"] is True
    assert {"lib", "tests", "pages", "app.py"} <= set(WHOLE["tool"]["mypy"]["files"])


def test_the_ci_runs_the_tests_as_a_person_does() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert re.findall(r"^\s*(make \w+)", text, flags=re.MULTILINE) == ["make lint", "make test", "make proof"]
