from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.registry import ENGINES, MATCHING, MIGRATES, ON_WORKERS, READERS, STREAMS, TARGETS, WRITERS

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.engines.engine import Engine
    from offsetwise.plan.moving import Moving
    from offsetwise.plan.target import TargetType
    from offsetwise.ports.stream import Spec
    from offsetwise.streams.reader import ClusterReader


def _engine() -> Engine:
    from offsetwise.plugins.kafka.engine.engine import GROUP

    return GROUP


def _migration_rules() -> Moving:
    from offsetwise.plugins.kafka.targets.group.migration_rules import MOVING

    return MOVING


def _stream() -> Spec:
    from offsetwise.plugins.kafka.stream.spec import SPEC

    return SPEC


def _reader() -> ClusterReader:
    from offsetwise.plugins.kafka.stream import reader

    return reader


def _matching() -> ModuleType:
    from offsetwise.plugins.kafka.stream import matching

    return matching


def _consumer_group() -> TargetType:
    from offsetwise.plugins.kafka.targets.group.spec import TYPE

    return TYPE


def _sink_transactions() -> TargetType:
    from offsetwise.plugins.kafka.targets.sink_transactions.spec import TYPE

    return TYPE


def _hanging_transactions() -> TargetType:
    from offsetwise.plugins.kafka.targets.hanging_transactions.spec import TYPE

    return TYPE


def _consumer_group_writer() -> WriterModule:
    from offsetwise.plugins.kafka.targets.group import writer

    return writer


def _sink_transactions_writer() -> WriterModule:
    from offsetwise.plugins.kafka.targets.sink_transactions import writer

    return writer


def _hanging_transactions_writer() -> WriterModule:
    from offsetwise.plugins.kafka.targets.hanging_transactions import writer

    return writer


def _on_workers() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.kafka.engine import engine

    return (engine,)


ENGINES.register({"group": _engine})
MIGRATES.register({"group": _migration_rules})
STREAMS.register({"kafka": _stream})
READERS.register({"kafka": _reader})
MATCHING.register({"kafka": _matching})
TARGETS.register(
    {
        "consumer-group": _consumer_group,
        "sink-transactions": _sink_transactions,
        "hanging-transactions": _hanging_transactions,
    }
)
WRITERS.register(
    {
        "consumer-group": _consumer_group_writer,
        "sink-transactions": _sink_transactions_writer,
        "hanging-transactions": _hanging_transactions_writer,
    }
)
ON_WORKERS.append(_on_workers)
