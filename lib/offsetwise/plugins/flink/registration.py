from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.registry import ENGINES, JOB_KEYS, MIGRATES, ON_WORKERS, SCREENS, TARGETS, WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.config import JobKeys
    from offsetwise.console.engine_screens import EngineScreen
    from offsetwise.engines.engine import CheckpointEngine
    from offsetwise.plan.moving import Moving
    from offsetwise.plan.target import TargetType


def _engine() -> CheckpointEngine:
    from offsetwise.plugins.flink.engine.engine import FLINK

    return FLINK


def _migration_rules() -> Moving:
    from offsetwise.plugins.flink.targets.migration_rules import MOVING

    return MOVING


def _screen() -> EngineScreen:
    from offsetwise.plugins.flink.screens import checkpoint

    return checkpoint


def _flink_savepoint() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint.spec import TYPE

    return TYPE


def _flink_savepoint_without_sources() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint_without_sources.spec import TYPE

    return TYPE


def _flink_savepoint_from_positions() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint_from_positions.spec import TYPE

    return TYPE


def _flink_savepoint_converted() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint_converted.spec import TYPE

    return TYPE


def _flink_savepoint_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint import writer

    return writer


def _flink_savepoint_without_sources_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint_without_sources import writer

    return writer


def _flink_savepoint_from_positions_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint_from_positions import writer

    return writer


def _flink_savepoint_converted_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint_converted import writer

    return writer


def _job_keys() -> type[JobKeys]:
    from offsetwise.plugins.flink.job_keys import FlinkJob

    return FlinkJob


def _on_workers() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.flink.engine import engine

    return (engine,)


ENGINES.register({"flink": _engine})
MIGRATES.register({"flink": _migration_rules})
SCREENS.register({"flink": _screen})
TARGETS.register(
    {
        "flink-savepoint": _flink_savepoint,
        "flink-savepoint-without-sources": _flink_savepoint_without_sources,
        "flink-savepoint-from-positions": _flink_savepoint_from_positions,
        "flink-savepoint-converted": _flink_savepoint_converted,
    }
)
WRITERS.register(
    {
        "flink-savepoint": _flink_savepoint_writer,
        "flink-savepoint-without-sources": _flink_savepoint_without_sources_writer,
        "flink-savepoint-from-positions": _flink_savepoint_from_positions_writer,
        "flink-savepoint-converted": _flink_savepoint_converted_writer,
    }
)
JOB_KEYS.register(
    dict.fromkeys(
        ("sql", "uids", "subscription_changeable", "needs_retained_data", "dynamic_cluster", "dynamic_servers"),
        _job_keys,
    )
)
ON_WORKERS.append(_on_workers)
