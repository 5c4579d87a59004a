"""What the files of the end-to-end proof share: the jobs that were stopped, and a migration of one checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.lab import Lab
from tests.integration.moving import Move, Moving, Scene, moved, staged


@pytest.fixture(scope="session")
def scene(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Jobs that were stopped in the middle; nobody writes to their checkpoints."""
    return staged(lab, tmp_path_factory.mktemp("end-to-end"))


@pytest.fixture
def moving(lab: Lab, tmp_path: Path) -> Moving:
    """Return a checkpoint's own copy a migration file of its own, so that every test begins with the same."""
    made: list[Move] = []

    def move(checkpoint: Path, **how: object) -> Move:
        made.append(moved(lab, checkpoint, tmp_path / f"move{len(made)}", **how))  # type: ignore[arg-type] # as given
        return made[-1]

    return move
