from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.registry import ENGINES, MIGRATES, ON_WORKERS, SCREENS, STATES, TARGETS, WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.console.engine_screens import EngineScreen
    from offsetwise.engines.engine import CheckpointEngine
    from offsetwise.pipeline.state_rows import CountsRows
    from offsetwise.plan.moving import Moving
    from offsetwise.plan.target import TargetType


def _engine() -> CheckpointEngine:
    from offsetwise.plugins.spark.engine.engine import SPARK

    return SPARK


def _migration_rules() -> Moving:
    from offsetwise.plugins.spark.targets.migration_rules import MOVING

    return MOVING


def _screen() -> EngineScreen:
    from offsetwise.plugins.spark.screens import checkpoint

    return checkpoint


def _state() -> CountsRows:
    from offsetwise.plugins.spark.state.rows import count_rows

    return count_rows


def _spark_checkpoint() -> TargetType:
    from offsetwise.plugins.spark.targets.copy.spec import TYPE

    return TYPE


def _spark_checkpoint_in_place() -> TargetType:
    from offsetwise.plugins.spark.targets.in_place.spec import TYPE

    return TYPE


def _starting_offsets() -> TargetType:
    from offsetwise.plugins.spark.targets.starting_offsets.spec import TYPE

    return TYPE


def _seeded_checkpoint() -> TargetType:
    from offsetwise.plugins.spark.targets.seeded.spec import TYPE

    return TYPE


def _starting_position() -> TargetType:
    from offsetwise.plugins.spark.targets.starting_position.spec import TYPE

    return TYPE


def _spark_checkpoint_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.copy import writer

    return writer


def _spark_checkpoint_in_place_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.in_place import writer

    return writer


def _starting_offsets_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.starting_offsets import writer

    return writer


def _seeded_checkpoint_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.seeded import writer

    return writer


def _starting_position_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.starting_position import writer

    return writer


def _on_workers() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.spark.engine import engine

    return (engine,)


ENGINES.register({"spark": _engine})
MIGRATES.register({"spark": _migration_rules})
SCREENS.register({"spark": _screen})
STATES.register({"spark": _state})
TARGETS.register(
    {
        "spark-checkpoint": _spark_checkpoint,
        "spark-checkpoint-in-place": _spark_checkpoint_in_place,
        "starting-offsets": _starting_offsets,
        "seeded-checkpoint": _seeded_checkpoint,
        "starting-position": _starting_position,
    }
)
WRITERS.register(
    {
        "spark-checkpoint": _spark_checkpoint_writer,
        "spark-checkpoint-in-place": _spark_checkpoint_in_place_writer,
        "starting-offsets": _starting_offsets_writer,
        "seeded-checkpoint": _seeded_checkpoint_writer,
        "starting-position": _starting_position_writer,
    }
)
ON_WORKERS.append(_on_workers)
