from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.registry import ENGINES, MIGRATES, ON_WORKERS, SECTIONS, TARGETS, WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.config import SectionEntry
    from offsetwise.engines.engine import CheckpointEngine
    from offsetwise.plan.moving import Moving
    from offsetwise.plan.target import TargetType


def _engine() -> CheckpointEngine:
    from offsetwise.plugins.positions.engine.engine import POSITIONS

    return POSITIONS


def _migration_rules() -> Moving:
    from offsetwise.plugins.positions.target.migration_rules import MOVING

    return MOVING


def _positions_file() -> TargetType:
    from offsetwise.plugins.positions.target.spec import TYPE

    return TYPE


def _positions_file_writer() -> WriterModule:
    from offsetwise.plugins.positions.target import writer

    return writer


def _section() -> type[SectionEntry]:
    from offsetwise.plugins.positions.section import PositionsConfig

    return PositionsConfig


def _on_workers() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.positions.engine import engine

    return (engine,)


ENGINES.register({"positions": _engine})
MIGRATES.register({"positions": _migration_rules})
TARGETS.register({"positions-file": _positions_file})
WRITERS.register({"positions-file": _positions_file_writer})
SECTIONS.register({"positions": _section})
ON_WORKERS.append(_on_workers)
