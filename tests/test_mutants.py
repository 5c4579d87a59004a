"""The code is broken as it was broken before, and a test fails as one did then."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.gates import PART
from tools.mutants import ROOT, mutated, recorded


@pytest.mark.proof
def test_every_recorded_mutant_fails_a_test() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tools.mutants", "--share", str(PART)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )

    tried = -(-len(recorded()) // PART)
    assert ran.stdout.splitlines()[-1:] == [f"{tried} mutants tried, {tried} fail a test"], ran.stdout


def test_at_least_400_mutants_are_recorded_of_code_that_is_there() -> None:
    """Code that moves takes its lines of `tests/data/mutants.jsonl` along."""
    assert len({mutated(ROOT / "lib", one) for one in recorded()}) >= 400
