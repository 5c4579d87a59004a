"""A test that goes over cases loses none, gives every one fixtures of its own, and names what failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.with_cases import APART

ROOT = Path(__file__).parent.parent

TESTS = """
import os
from pathlib import Path

import pytest

from tests.with_cases import with_cases

torn = []


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared") / "count"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inside").mkdir()  # fails where a case before it had the same folder
    yield tmp_path
    torn.append(tmp_path)


@with_cases("first", [1, 2, 3])
@with_cases("second", ["x", "y"], ids="<{}>".format)
def test_isolated(first, second, folder, monkeypatch, capsys, shared, record_property):
    assert "OF_A_CASE" not in os.environ
    monkeypatch.setenv("OF_A_CASE", "1")
    print(second)
    assert capsys.readouterr().out == second + "\\n"
    with shared.open("a") as counted:
        counted.write(".")


def test_every_combination_ran_and_was_torn_down(shared):
    assert shared.read_text() == "......"
    assert len(set(torn)) == 6


class TestClass:
    @with_cases("case", [1, 2])
    def test_instance(self, case):
        assert not hasattr(self, "seen")
        self.seen = case


@with_cases("case", [1, 2, 3, 4])
def test_fails(case, request):
    if case == 3:
        request.addfinalizer(lambda: 1 / 0)
    assert case != 2, "the second"


@with_cases("case", [1, 2])
def test_skipped(case):
    pytest.skip("neither can run")


@with_cases("case", [1, 2])
def test_one_skipped(case):
    if case == 1:
        pytest.skip("only one can run")
"""


def _ran(folder: Path, *options: str) -> str:
    (folder / "test_them.py").write_text(TESTS, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.with_cases", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout


def test_cases_are_one_test_that_names_those_that_fail(tmp_path: Path) -> None:
    told = _ran(tmp_path, "-n", "2", "--dist", "loadfile")

    assert "1 failed, 4 passed, 1 skipped" in told
    assert "2 of 4 cases failed:\ntest_fails[2]\ntest_fails[3]\n" in told
    assert re.search(r"_____ test_fails\[2\]: call _____\n.*AssertionError: the second", told, re.DOTALL)
    assert re.search(r"_____ test_fails\[3\]: teardown _____\n.*ZeroDivisionError", told, re.DOTALL)


def test_the_first_failure_ends_a_run_that_asks_for_one(tmp_path: Path) -> None:
    assert "1 of 4 cases failed:\ntest_fails[2]\n" in _ran(tmp_path, "-x")


def test_a_case_is_chosen_by_its_id(tmp_path: Path) -> None:
    assert "1 failed, 2 passed" in _ran(tmp_path, APART, "-k", "test_fails and not 3")
    assert "1 passed" in _ran(tmp_path, APART, "test_them.py::test_isolated[<y>-2]")
