"""The built-in findings, and the plug-ins in the folders of `plugins`.

Only this module outside of these folders names them, and it is imported at the first look-up of a registered name, on
Spark's workers too. A plug-in registers its parts itself, in its `registration`. One whose folder is missing, or that
needs a missing one, is absent, and everything else works. Other people's plug-ins come by entry points (`registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from offsetwise.registry import ABSENT, FINDINGS


def _kafka() -> ModuleType:
    from offsetwise.plugins.kafka import registration

    return registration


def _spark() -> ModuleType:
    from offsetwise.plugins.spark import registration

    return registration


def _flink() -> ModuleType:
    from offsetwise.plugins.flink import registration

    return registration


def _kinesis() -> ModuleType:
    from offsetwise.plugins.kinesis import registration

    return registration


def _positions() -> ModuleType:
    from offsetwise.plugins.positions import registration

    return registration


def _connect() -> ModuleType:
    from offsetwise.plugins.connect import registration

    return registration


PLUGINS: Final[Mapping[str, tuple[Callable[[], ModuleType], tuple[str, ...]]]] = {
    "spark": (_spark, ("kinesis",)),
    "flink": (_flink, ("kinesis",)),
    "kinesis": (_kinesis, ()),
    "positions": (_positions, ()),
    "connect": (_connect, ()),
    "kafka": (_kafka, ()),
}
"""By name, in the order of display: what imports the registration, and the plug-ins that it needs."""


def _findings() -> tuple[ModuleType, ...]:
    from offsetwise.findings import committed, groups, logs, migration, reading, sinks, target_position, unedited
    from offsetwise.lag import alerts, cutover
    from offsetwise.plan import gate, refusals
    from offsetwise.plan.sinks import marking
    from offsetwise.status import findings as of_status

    return (
        *(committed, groups, logs, migration, target_position, reading, sinks, unedited),
        *(alerts, cutover, gate, refusals, marking, of_status),
    )


def _findings_of_targets_and_engines() -> None:
    from offsetwise.engines.registry import registered
    from offsetwise.plan.moving import moving_of
    from offsetwise.plan.target import target_types

    for engine in registered():
        moving_of(engine.name)
    target_types()


def _is_there(name: str) -> bool:
    return find_spec(f"{__package__}.plugins.{name}") is not None


FINDINGS.append(_findings)
for _name, (_import, _needs) in PLUGINS.items():
    if all(map(_is_there, (_name, *_needs))):
        _import()
    else:
        ABSENT.append(_name)
FINDINGS.append(_findings_of_targets_and_engines)
