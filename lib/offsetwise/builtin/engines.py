"""Registers the product's own engines, and what goes with each: how its jobs move, its screens, its surveys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offsetwise.registry import ENGINES, MIGRATES, SCREENS, STATES, SURVEYS

if TYPE_CHECKING:
    from offsetwise.console.builtin import EngineScreen
    from offsetwise.engines.engine import CheckpointEngine, Engine
    from offsetwise.pipeline.state_rows import CountsRows
    from offsetwise.plan.moving import Moving
    from offsetwise.survey.connectors import SurveysWorkers


def _spark() -> CheckpointEngine:
    from offsetwise.plugins.spark.engine.engine import SPARK

    return SPARK


def _flink() -> CheckpointEngine:
    from offsetwise.plugins.flink.engine.engine import FLINK

    return FLINK


def _kcl() -> CheckpointEngine:
    from offsetwise.plugins.kinesis.kcl.engine import KCL

    return KCL


def _positions() -> CheckpointEngine:
    from offsetwise.plugins.positions.engine.engine import POSITIONS

    return POSITIONS


def _connect() -> CheckpointEngine:
    from offsetwise.plugins.connect.engine.engine import CONNECT

    return CONNECT


def _group() -> Engine:
    from offsetwise.plugins.kafka.engine.engine import GROUP

    return GROUP


def _connect_survey() -> SurveysWorkers:
    from offsetwise.plugins.connect.survey import surveyed_connectors

    return surveyed_connectors


def _spark_moving() -> Moving:
    from offsetwise.plugins.spark.targets.migration_rules import MOVING

    return MOVING


def _flink_moving() -> Moving:
    from offsetwise.plugins.flink.targets.migration_rules import MOVING

    return MOVING


def _kcl_moving() -> Moving:
    from offsetwise.plugins.kinesis.targets.kcl.migration_rules import MOVING

    return MOVING


def _positions_moving() -> Moving:
    from offsetwise.plugins.positions.target.migration_rules import MOVING

    return MOVING


def _connect_moving() -> Moving:
    from offsetwise.plugins.connect.target.migration_rules import MOVING

    return MOVING


def _group_moving() -> Moving:
    from offsetwise.plugins.kafka.targets.group.migration_rules import MOVING

    return MOVING


def _spark_screen() -> EngineScreen:
    from offsetwise.plugins.spark.screens import checkpoint

    return checkpoint


def _flink_screen() -> EngineScreen:
    from offsetwise.plugins.flink.screens import checkpoint

    return checkpoint


def _spark_state() -> CountsRows:
    from offsetwise.plugins.spark.state.rows import count_rows

    return count_rows


ENGINES.register(
    {
        "spark": _spark,
        "flink": _flink,
        "kcl": _kcl,
        "positions": _positions,
        "connect": _connect,
        "group": _group,
    }
)
MIGRATES.register(
    {
        "spark": _spark_moving,
        "flink": _flink_moving,
        "kcl": _kcl_moving,
        "positions": _positions_moving,
        "connect": _connect_moving,
        "group": _group_moving,
    }
)
SCREENS.register(
    {
        "spark": _spark_screen,
        "flink": _flink_screen,
    }
)
STATES.register({"spark": _spark_state})
SURVEYS.register({"connect": _connect_survey})
