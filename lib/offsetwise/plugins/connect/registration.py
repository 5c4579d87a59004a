from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.registry import ENGINES, MIGRATES, ON_WORKERS, SECTIONS, SURVEYS, TARGETS, WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.config import SectionEntry
    from offsetwise.engines.engine import CheckpointEngine
    from offsetwise.plan.moving import Moving
    from offsetwise.plan.target import TargetType
    from offsetwise.survey.connectors import SurveysWorkers


def _engine() -> CheckpointEngine:
    from offsetwise.plugins.connect.engine.engine import CONNECT

    return CONNECT


def _migration_rules() -> Moving:
    from offsetwise.plugins.connect.target.migration_rules import MOVING

    return MOVING


def _survey() -> SurveysWorkers:
    from offsetwise.plugins.connect.survey import surveyed_connectors

    return surveyed_connectors


def _connector() -> TargetType:
    from offsetwise.plugins.connect.target.spec import TYPE

    return TYPE


def _connector_writer() -> WriterModule:
    from offsetwise.plugins.connect.target import writer

    return writer


def _section() -> type[SectionEntry]:
    from offsetwise.plugins.connect.section import ConnectConfig

    return ConnectConfig


def _on_workers() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.connect.engine import engine

    return (engine,)


ENGINES.register({"connect": _engine})
MIGRATES.register({"connect": _migration_rules})
SURVEYS.register({"connect": _survey})
TARGETS.register({"connector": _connector})
WRITERS.register({"connector": _connector_writer})
SECTIONS.register({"connect": _section})
ON_WORKERS.append(_on_workers)
