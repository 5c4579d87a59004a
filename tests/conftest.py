"""One lab for the whole session, shared by every test that needs real clusters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsetwise.lab import Lab

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two running clusters. Tests make topics of their own, with names of their own."""
    with Lab.up(tmp_path_factory.mktemp("lab")).no_longer_than_this_process() as running:
        yield running


@pytest.fixture(scope="session")
def sample(lab: Lab) -> Path:
    """The reference migration's `migration.yaml`, on the session's lab. Nobody writes to its topics."""
    return lab.sample()
