"""PySpark is installed when it is first needed, where `make console` left it out."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from offsetwise.config import SparkSettings
from offsetwise.console.warm_spark import WarmSpark, Warmth
from offsetwise.errors import SparkError
from offsetwise.pipeline import start
from offsetwise.pipeline.start import INSTALL_STEP, can_be_installed, install_pyspark
from offsetwise.progress import no_progress
from tests.docs_pages import ROOT
from tests.with_cases import with_cases

INSTALLED = "module_of_this_test"
"""Stands for PySpark, which is installed where tests run."""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose `make console` is done; its Makefile writes a module in place of PySpark."""
    made = tmp_path / "a checkout"
    (made / ".venv" / "site").mkdir(parents=True)
    (made / ".venv" / ".console").touch()
    (made / "locks").mkdir()
    (made / "locks" / "spark.txt").touch()
    recipe(made, f"sleep 0.3; touch .venv/site/{INSTALLED}.py")
    monkeypatch.setattr(sys, "prefix", str(made / ".venv"))
    monkeypatch.syspath_prepend(str(made / ".venv" / "site"))
    monkeypatch.setattr(start, "PYSPARK", INSTALLED)
    monkeypatch.delitem(sys.modules, INSTALLED, raising=False)
    return made


def never(*_: object) -> None:
    pytest.fail("nothing is to be installed or started here")


def recipe(checkout: Path, commands: str) -> None:
    (checkout / "Makefile").write_text(f".venv/.pyspark:\n\t@{commands}\n\ttouch $@\n", encoding="utf-8")


def test_it_is_installed_with_progress_and_once(checkout: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    assert can_be_installed()

    install_pyspark(lambda *step: steps.append(step))

    assert not can_be_installed()
    assert len(steps) > 1
    assert {step[0] for step in steps} == {INSTALL_STEP}
    assert all(done < total for _, done, total in steps[:-1])
    assert steps[-1][1] == steps[-1][2]
    __import__(INSTALLED)
    (checkout / "Makefile").unlink()
    install_pyspark(never)


def test_two_who_need_it_at_once_install_it_once(checkout: Path) -> None:
    recipe(checkout, f"echo run >> runs; sleep 0.3; touch .venv/site/{INSTALLED}.py")
    threads = [threading.Thread(target=install_pyspark, args=(no_progress,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (checkout / "runs").read_text() == "run\n"


def test_a_failure_says_why_and_its_next_step_works(checkout: Path) -> None:
    recipe(
        checkout,
        "test -e network || { echo first; echo no route to host; exit 3; }; touch .venv/site/" + INSTALLED + ".py",
    )

    with pytest.raises(SparkError, match=r"found that it failed: .*no route to host.*No record was read\.") as caught:
        install_pyspark(no_progress)

    (checkout / "network").touch()
    subprocess.run(caught.value.fix.removeprefix("Run: "), shell=True, check=True, stdout=subprocess.DEVNULL)
    assert (checkout / ".venv" / "site" / f"{INSTALLED}.py").exists()


def test_who_stops_waiting_ends_what_installs(checkout: Path) -> None:
    recipe(checkout, f"sleep 5; touch .venv/site/{INSTALLED}.py")
    began = time.monotonic()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_pyspark(stop)

    assert time.monotonic() - began < 4, "nobody waited for the five seconds"
    assert can_be_installed()


@with_cases("absent", [".venv/.console", "locks/spark.txt"])
def test_elsewhere_nothing_is_installed(checkout: Path, absent: str) -> None:
    (checkout / absent).unlink()

    assert not can_be_installed()
    install_pyspark(never)


@pytest.mark.usefixtures("checkout")
def test_the_console_says_so_and_starts_nothing_ahead() -> None:
    spark = WarmSpark(start=never, is_there=lambda: False)

    assert spark.open(SparkSettings()).warmth is Warmth.ABSENT
    install_pyspark(no_progress)
    started = threading.Event()
    spark = WarmSpark(start=lambda _: started.set(), is_there=lambda: False)
    assert spark.open(SparkSettings()).warmth is Warmth.STARTING
    assert started.wait(10)


@pytest.mark.proof
def test_after_make_console_the_first_comparison_installs_pyspark(sample: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", ".venv", ".git", "tests", "benchmarks")
    shutil.copytree(ROOT, checkout, ignore=left_out)
    subprocess.run(["make", ".venv/.console"], cwd=checkout, check=True, stdout=subprocess.DEVNULL)
    python = checkout / ".venv" / "bin" / "python"
    absent = subprocess.run([python, "-c", "import pyspark"], capture_output=True, text=True, check=False)
    assert "No module named 'pyspark'" in absent.stderr

    command = [str(checkout / ".venv/bin/offsetwise"), "compare", "--migration", str(sample), "--checkpoint", "orders"]
    compared = subprocess.run(command, capture_output=True, text=True, check=False)

    assert compared.returncode == 0, compared.stderr
    assert "The position on the new cluster is proven for all 8." in compared.stdout
    assert (checkout / ".venv" / ".pyspark").exists()
