"""The engine-specific parts of the screens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from offsetwise.console.answers import Answers
from offsetwise.console.explore.checkpoint import others
from offsetwise.console.explore.checkpoint.sources import Reading
from offsetwise.console.reader import Offered
from offsetwise.engines.registry import engine_of, named_by
from offsetwise.model import Checkpoint
from offsetwise.registry import SCREENS


class EngineScreen(Protocol):
    __name__: str

    @property
    def draw(self) -> Callable[[Answers, Offered, str, Reading], None]:
        """Draws its part of the Checkpoint screen, below the restart and its banners."""

    @property
    def facts(self) -> Callable[[Checkpoint], None]:
        """Draws its part of the Fleet screen."""


def screen_of(engine: str) -> EngineScreen:
    """Return the module that draws an engine's part of the screens; the default draws where each partition resumes.

    Raises:
        VersionError: This release has no engine of that name.
    """
    named = engine_of(engine).screen
    if not named and engine not in SCREENS:
        return others
    screen: EngineScreen = named_by(named) if named else SCREENS.load(engine)
    return screen
