from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.registry import (
    ENGINES,
    FINDINGS,
    JOB_KEYS,
    MATCHING,
    MIGRATES,
    ON_WORKERS,
    READERS,
    STREAMS,
    TARGETS,
    WRITERS,
)

if TYPE_CHECKING:
    from offsetwise.apply.writers import WriterModule
    from offsetwise.config import JobKeys
    from offsetwise.engines.engine import CheckpointEngine
    from offsetwise.plan.moving import Moving
    from offsetwise.plan.target import TargetType
    from offsetwise.ports.stream import Spec
    from offsetwise.streams.reader import ClusterReader


def _engine() -> CheckpointEngine:
    from offsetwise.plugins.kinesis.kcl.engine import KCL

    return KCL


def _migration_rules() -> Moving:
    from offsetwise.plugins.kinesis.targets.kcl.migration_rules import MOVING

    return MOVING


def _stream() -> Spec:
    from offsetwise.plugins.kinesis.stream.spec import SPEC

    return SPEC


def _reader() -> ClusterReader:
    from offsetwise.plugins.kinesis.stream import reader

    return reader


def _matching() -> ModuleType:
    from offsetwise.plugins.kinesis.stream import matching

    return matching


def _at_timestamp() -> TargetType:
    from offsetwise.plugins.kinesis.targets.at_timestamp.spec import TYPE

    return TYPE


def _kcl_leases() -> TargetType:
    from offsetwise.plugins.kinesis.targets.kcl_leases.spec import TYPE

    return TYPE


def _at_timestamp_writer() -> WriterModule:
    from offsetwise.plugins.kinesis.targets.at_timestamp import writer

    return writer


def _kcl_leases_writer() -> WriterModule:
    from offsetwise.plugins.kinesis.targets.kcl_leases import writer

    return writer


def _findings() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.kinesis.kcl import findings as of_kcl
    from offsetwise.plugins.kinesis.stream import findings as of_kinesis

    return of_kcl, of_kinesis


def _job_keys() -> type[JobKeys]:
    from offsetwise.plugins.kinesis.job_keys import KinesisJob

    return KinesisJob


def _on_workers() -> tuple[ModuleType, ...]:
    from offsetwise.plugins.kinesis.kcl import engine
    from offsetwise.plugins.kinesis.stream import records

    return engine, records


ENGINES.register({"kcl": _engine})
MIGRATES.register({"kcl": _migration_rules})
STREAMS.register({"kinesis": _stream})
READERS.register({"kinesis": _reader})
MATCHING.register({"kinesis": _matching})
TARGETS.register({"at-timestamp": _at_timestamp, "kcl-leases": _kcl_leases})
WRITERS.register({"at-timestamp": _at_timestamp_writer, "kcl-leases": _kcl_leases_writer})
FINDINGS.append(_findings)
JOB_KEYS.register({"stream": _job_keys, "application": _job_keys})
ON_WORKERS.append(_on_workers)
