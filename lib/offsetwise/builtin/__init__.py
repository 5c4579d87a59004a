"""What the product itself registers: streams, engines and how their jobs move, targets and their writers, findings.

It is the one room outside of `plugins` that names them all, and it is imported when something is first asked for by its
name, by Spark's workers too. Each is imported when it is loaded, so that a command which asks for one of them does not
wait for the others. Plug-ins come by entry points (`registry`).
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.builtin import engines  # noqa: F401 - it registers them
from offsetwise.registry import FINDINGS, MATCHING, READERS, STREAMS, TARGETS, WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.plan.target import TargetType
    from offsetwise.ports.stream import Spec
    from offsetwise.streams.reader import ClusterReader


def _kafka() -> Spec:
    from offsetwise.plugins.kafka.stream.spec import SPEC

    return SPEC


def _kafka_reader() -> ClusterReader:
    from offsetwise.plugins.kafka.stream import reader

    return reader


def _kafka_matching() -> ModuleType:
    from offsetwise.plugins.kafka.stream import matching

    return matching


def _kinesis() -> Spec:
    from offsetwise.plugins.kinesis.stream.spec import SPEC

    return SPEC


def _kinesis_reader() -> ClusterReader:
    from offsetwise.plugins.kinesis.stream import reader

    return reader


def _kinesis_matching() -> ModuleType:
    from offsetwise.plugins.kinesis.stream import matching

    return matching


def _spark_checkpoint() -> TargetType:
    from offsetwise.plugins.spark.targets.copy.spec import TYPE

    return TYPE


def _spark_checkpoint_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.copy import writer

    return writer


def _spark_checkpoint_in_place() -> TargetType:
    from offsetwise.plugins.spark.targets.in_place.spec import TYPE

    return TYPE


def _spark_checkpoint_in_place_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.in_place import writer

    return writer


def _starting_offsets() -> TargetType:
    from offsetwise.plugins.spark.targets.starting_offsets.spec import TYPE

    return TYPE


def _starting_offsets_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.starting_offsets import writer

    return writer


def _seeded_checkpoint() -> TargetType:
    from offsetwise.plugins.spark.targets.seeded.spec import TYPE

    return TYPE


def _seeded_checkpoint_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.seeded import writer

    return writer


def _flink_savepoint() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint.spec import TYPE

    return TYPE


def _flink_savepoint_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint import writer

    return writer


def _flink_savepoint_without_sources() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint_without_sources.spec import TYPE

    return TYPE


def _flink_savepoint_without_sources_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint_without_sources import writer

    return writer


def _flink_savepoint_from_positions() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint_from_positions.spec import TYPE

    return TYPE


def _flink_savepoint_from_positions_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint_from_positions import writer

    return writer


def _flink_savepoint_converted() -> TargetType:
    from offsetwise.plugins.flink.targets.savepoint_converted.spec import TYPE

    return TYPE


def _flink_savepoint_converted_writer() -> WriterModule:
    from offsetwise.plugins.flink.targets.savepoint_converted import writer

    return writer


def _starting_position() -> TargetType:
    from offsetwise.plugins.spark.targets.starting_position.spec import TYPE

    return TYPE


def _starting_position_writer() -> WriterModule:
    from offsetwise.plugins.spark.targets.starting_position import writer

    return writer


def _at_timestamp() -> TargetType:
    from offsetwise.plugins.kinesis.targets.at_timestamp.spec import TYPE

    return TYPE


def _at_timestamp_writer() -> WriterModule:
    from offsetwise.plugins.kinesis.targets.at_timestamp import writer

    return writer


def _consumer_group() -> TargetType:
    from offsetwise.plugins.kafka.targets.group.spec import TYPE

    return TYPE


def _consumer_group_writer() -> WriterModule:
    from offsetwise.plugins.kafka.targets.group import writer

    return writer


def _positions_file() -> TargetType:
    from offsetwise.plugins.positions.target.spec import TYPE

    return TYPE


def _positions_file_writer() -> WriterModule:
    from offsetwise.plugins.positions.target import writer

    return writer


def _connector() -> TargetType:
    from offsetwise.plugins.connect.target.spec import TYPE

    return TYPE


def _connector_writer() -> WriterModule:
    from offsetwise.plugins.connect.target import writer

    return writer


def _kcl_leases() -> TargetType:
    from offsetwise.plugins.kinesis.targets.kcl_leases.spec import TYPE

    return TYPE


def _kcl_leases_writer() -> WriterModule:
    from offsetwise.plugins.kinesis.targets.kcl_leases import writer

    return writer


def _sink_transactions() -> TargetType:
    from offsetwise.plugins.kafka.targets.sink_transactions.spec import TYPE

    return TYPE


def _sink_transactions_writer() -> WriterModule:
    from offsetwise.plugins.kafka.targets.sink_transactions import writer

    return writer


def _hanging_transactions() -> TargetType:
    from offsetwise.plugins.kafka.targets.hanging_transactions.spec import TYPE

    return TYPE


def _hanging_transactions_writer() -> WriterModule:
    from offsetwise.plugins.kafka.targets.hanging_transactions import writer

    return writer


def _findings() -> tuple[ModuleType, ...]:
    """Import the modules that declare findings, but for those that targets and engines bring."""
    from offsetwise.findings import committed, groups, logs, migration, reading, sinks, target_position, unedited
    from offsetwise.lag import alerts, cutover
    from offsetwise.plan import gate, refusals
    from offsetwise.plan.sinks import marking
    from offsetwise.plugins.kinesis.kcl import findings as of_kcl
    from offsetwise.plugins.kinesis.stream import findings as of_kinesis
    from offsetwise.status import findings as of_status

    return (
        *(committed, groups, logs, migration, target_position, reading, sinks, unedited),
        *(alerts, cutover, gate, refusals, marking),
        *(of_kcl, of_kinesis, of_status),
    )


def _findings_of_targets_and_engines() -> None:
    """Import the specs of targets, and how the jobs of engines move, which import what declares findings."""
    from offsetwise.engines.registry import registered
    from offsetwise.plan.moving import moving_of
    from offsetwise.plan.target import target_types

    for engine in registered():
        moving_of(engine.name)
    target_types()


STREAMS.register(
    {
        "kafka": _kafka,
        "kinesis": _kinesis,
    }
)
READERS.register(
    {
        "kafka": _kafka_reader,
        "kinesis": _kinesis_reader,
    }
)
MATCHING.register(
    {
        "kafka": _kafka_matching,
        "kinesis": _kinesis_matching,
    }
)
TARGETS.register(
    {
        "spark-checkpoint": _spark_checkpoint,
        "spark-checkpoint-in-place": _spark_checkpoint_in_place,
        "starting-offsets": _starting_offsets,
        "seeded-checkpoint": _seeded_checkpoint,
        "flink-savepoint": _flink_savepoint,
        "flink-savepoint-without-sources": _flink_savepoint_without_sources,
        "flink-savepoint-from-positions": _flink_savepoint_from_positions,
        "flink-savepoint-converted": _flink_savepoint_converted,
        "starting-position": _starting_position,
        "at-timestamp": _at_timestamp,
        "consumer-group": _consumer_group,
        "positions-file": _positions_file,
        "connector": _connector,
        "kcl-leases": _kcl_leases,
        "sink-transactions": _sink_transactions,
        "hanging-transactions": _hanging_transactions,
    }
)
WRITERS.register(
    {
        "spark-checkpoint": _spark_checkpoint_writer,
        "spark-checkpoint-in-place": _spark_checkpoint_in_place_writer,
        "starting-offsets": _starting_offsets_writer,
        "seeded-checkpoint": _seeded_checkpoint_writer,
        "flink-savepoint": _flink_savepoint_writer,
        "flink-savepoint-without-sources": _flink_savepoint_without_sources_writer,
        "flink-savepoint-from-positions": _flink_savepoint_from_positions_writer,
        "flink-savepoint-converted": _flink_savepoint_converted_writer,
        "starting-position": _starting_position_writer,
        "at-timestamp": _at_timestamp_writer,
        "consumer-group": _consumer_group_writer,
        "positions-file": _positions_file_writer,
        "connector": _connector_writer,
        "kcl-leases": _kcl_leases_writer,
        "sink-transactions": _sink_transactions_writer,
        "hanging-transactions": _hanging_transactions_writer,
    }
)
FINDINGS.extend((_findings, _findings_of_targets_and_engines))
