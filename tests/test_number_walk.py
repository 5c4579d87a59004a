"""How much of the package one number of the bundled sample crosses: counted, limited, and told by the architecture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tools.number_walk import Counts

ROOT: Final = Path(__file__).parent.parent
FUNCTIONS: Final = 374
MODULES: Final = 85
TYPES: Final = 30
"""What is reached. Aimed at were 380 functions, 55 modules and 30 types; these only get smaller."""


@pytest.fixture(scope="module")
def counts() -> Counts:
    """Count in a process of its own: a profile of every thread is part of it."""
    command = [sys.executable, str(ROOT / "tools" / "number_walk.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return Counts(**json.loads(done.stdout))


def test_one_number_crosses_no_more_than_it_did(counts: Counts) -> None:
    assert counts.function_count <= FUNCTIONS
    assert len(counts.modules) <= MODULES
    assert len(counts.types) <= TYPES


def test_the_page_says_what_is_counted(counts: Counts) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert counts.sentences() in page, "run tools/number_walk.py --write"


def test_the_number_is_followed_from_the_checkpoint_to_what_is_written(counts: Counts) -> None:
    """The walk sees the reader of the file, the row of the screen and the writer's text: it does not look away."""
    assert "parse_offsets" in counts.functions["plugins/spark/engine/offset_log.py"]
    assert "partition_table" in counts.functions["console/explore/compare_table.py"]
    assert "starting_offsets" in counts.functions["plan/exports.py"]
    assert "offsetwise.model.comparison.PartitionComparison" in counts.types
