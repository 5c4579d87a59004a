"""The known engines, by name; built-in ones are registered in `builtin`.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from offsetwise.engines.engine import CheckpointEngine, Engine
from offsetwise.errors import VersionError
from offsetwise.registry import ENGINES, load_named, with_absent


def registered() -> tuple[Engine, ...]:
    """Return all engines: the built-in ones in their order, then those of plug-ins that can be loaded."""
    own = (ENGINES.load_object(name, Engine) for name in ENGINES if name not in ENGINES.installed)
    return (*own, *_installed())


@cache
def _installed() -> tuple[Engine, ...]:
    return tuple(ENGINES.loadable(Engine, ENGINES.installed))


def engines() -> tuple[CheckpointEngine, ...]:
    return tuple(engine for engine in registered() if isinstance(engine, CheckpointEngine))


def keeper_of(name: str) -> Engine:
    """Return the engine that keeps positions, including that of consumer groups, by its name in files.

    Raises:
        VersionError: This release has none of that name.
        PluginError: It belongs to a plug-in that cannot be loaded.
    """
    if name not in ENGINES:
        raise _unknown_engine(name)
    return ENGINES.load_object(name, Engine)


def engine_of(name: str) -> CheckpointEngine:
    """Return the engine of a checkpoint, by its name in files.

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
        fix=with_absent("Install the plug-in that has it, or use the release of Offsetwise that wrote the file."),
    )


def named_by(module: str) -> Any:
    """Return a module that a plug-in's engine names, or an object in one as `package.module:OBJECT`."""
    return load_named(module)


def labels(word: str = "or") -> str:
    """Return the engines' labels as part of a sentence.

    >>> labels()
    'Spark, Flink, KCL, positions file or Kafka Connect'
    """
    *first, last = (engine.label for engine in engines())
    return f"{', '.join(first)} {word} {last}" if first else last
