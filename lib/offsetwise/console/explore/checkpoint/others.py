"""The Checkpoint screen of a job whose engine has no screen of its own: where each partition resumes."""

from __future__ import annotations

from offsetwise.console.answers import Answers
from offsetwise.console.explore.checkpoint import sources
from offsetwise.console.reader import Offered
from offsetwise.model import Checkpoint


def draw(answers: Answers, migration: Offered, name: str, reading: sources.Reading) -> None:  # noqa: ARG001 - as every engine's
    sources.draw(reading)


def facts(read: Checkpoint) -> None:
    """Draw nothing: the Fleet screen has no part for these engines."""
