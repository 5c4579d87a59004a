"""What the console itself registers: the part of the screens that is an engine's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from offsetwise.console.answers import Answers
from offsetwise.console.explore.checkpoint import flink, others, spark
from offsetwise.console.explore.checkpoint.sources import Reading
from offsetwise.console.reader import Offered
from offsetwise.engines.registry import engine_of, named_by
from offsetwise.model import Checkpoint


class EngineScreen(Protocol):
    """What the module has that draws an engine's part of the screens."""

    __name__: str

    @property
    def draw(self) -> Callable[[Answers, Offered, str, Reading], None]:
        """Draws its part of the Checkpoint screen: below the restart and its banners."""

    @property
    def facts(self) -> Callable[[Checkpoint], None]:
        """Draws its part of the Fleet screen."""


SCREENS: Final[Mapping[str, EngineScreen]] = {"spark": spark, "flink": flink}
"""By the name of the engine; that of others draws where each partition continues."""


def screen_of(engine: str) -> EngineScreen:
    """Return what draws an engine's part of the screens.

    Raises:
        VersionError: This release has no engine of that name.
    """
    named = engine_of(engine).screen
    if named:
        screen: EngineScreen = named_by(named)
        return screen
    return SCREENS.get(engine, others)
