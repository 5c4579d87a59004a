"""The engines that are known, one line each.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from offsetwise.engines.connect.engine import CONNECT
from offsetwise.engines.engine import CheckpointEngine, Engine
from offsetwise.engines.flink.engine import FLINK
from offsetwise.engines.group.engine import GROUP
from offsetwise.engines.kcl.engine import KCL
from offsetwise.engines.positions.engine import POSITIONS
from offsetwise.engines.spark.engine import SPARK
from offsetwise.errors import VersionError
from offsetwise.registry import ENGINES, load_named

_ENGINES: dict[str, Engine] = {}


def register(engine: Engine) -> None:
    """Add an engine.

    Raises:
        ValueError: Another one has its name.
    """
    if _ENGINES.setdefault(engine.name, engine) is not engine:
        raise ValueError(f"two engines are called {engine.name!r}")


def registered() -> tuple[Engine, ...]:
    """Return all engines: the product's own in their order, then those of plug-ins that can be loaded."""
    return (*_ENGINES.values(), *_installed().values())


@cache
def _installed() -> Mapping[str, Engine]:
    return {engine.name: engine for engine in ENGINES.loadable(Engine)}


def engines() -> tuple[CheckpointEngine, ...]:
    """Return those that keep checkpoints, in that order."""
    return tuple(engine for engine in registered() if isinstance(engine, CheckpointEngine))


def keeper_of(name: str) -> Engine:
    """Return the engine that keeps positions, a consumer group's too, by the name that files call it.

    Raises:
        VersionError: This release has none of that name.
        PluginError: It is a plug-in's that cannot be loaded.
    """
    if name in _ENGINES:
        return _ENGINES[name]
    if name not in ENGINES:
        raise _unknown_engine(name)
    return ENGINES.load_object(name, Engine)


def engine_of(name: str) -> CheckpointEngine:
    """Return the engine of a checkpoint by the name that files call it.

    Raises:
        VersionError: This release has none of that name.
    """
    engine = keeper_of(name)
    if not isinstance(engine, CheckpointEngine):
        raise _unknown_engine(name)
    return engine


def _unknown_engine(name: str) -> VersionError:
    return VersionError(
        f"Engine {name[:80]!r}: this release reads checkpoints of {labels('and')}. Nothing was used.",
        fix="Install the plug-in that has it, or use the release of Offsetwise that wrote the file.",
    )


def named_by(module: str) -> Any:
    """Return a module that the engine of a plug-in names, or an object in one as `package.module:OBJECT`."""
    return load_named(module)


def labels(word: str = "or") -> str:
    """Name the engines for a sentence.

    >>> labels()
    'Spark, Flink, KCL, positions file or Kafka Connect'
    """
    *first, last = (engine.label for engine in engines())
    return f"{', '.join(first)} {word} {last}" if first else last


register(SPARK)
register(FLINK)
register(KCL)
register(POSITIONS)
register(CONNECT)
register(GROUP)
