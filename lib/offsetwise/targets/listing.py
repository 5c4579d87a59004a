from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from offsetwise.config import JobTraits, Migration
from offsetwise.engines.engine import Engine
from offsetwise.engines.registry import registered
from offsetwise.plan.moving import moving_of
from offsetwise.plan.settings import Settings, keys_of
from offsetwise.plan.strategies import ways_of
from offsetwise.plan.target import OFFSETS, TargetType, target_types
from offsetwise.ports.stream import specs
from offsetwise.registry import ENGINES, JOB_KEYS, SECTIONS, TARGETS, absent_plugins


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTarget:
    """One type of target."""

    name: str
    """The name after `--target`."""
    label: str
    """The name for people."""
    address: str | None
    """The meaning of NAME in `--target TYPE:NAME`; null if the type alone names the target."""
    streams: tuple[str, ...]
    """The streams whose positions it holds; empty: none, or those of every stream."""
    engines: tuple[str, ...]
    """The engines whose jobs it moves; empty: none."""
    parameters: Mapping[str, Any]
    """The keys of `--set`, as JSON Schema."""
    aliases: Mapping[str, str]
    """Older options of `draft`, each with its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEngine:
    """One engine, and what is said about its jobs whatever the target."""

    name: str
    label: str
    parameters: Mapping[str, Any]
    aliases: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetListing:
    """What `offsetwise targets` prints."""

    targets: tuple[ListedTarget, ...]
    engines: tuple[ListedEngine, ...]


def listing() -> TargetListing:
    """Return every registered type of target and engine, in order."""
    return TargetListing(
        targets=tuple(map(_target, target_types())),
        engines=tuple(
            ListedEngine(
                name=engine.name,
                label=engine.label,
                parameters=_schema(moving_of(engine.name).parameters),
                aliases=moving_of(engine.name).parameters.options,
            )
            for engine in registered()
        ),
    )


def problems() -> tuple[str, ...]:
    """Return a sentence for each unusable name of a plug-in; one sentence names all plug-ins that are missing."""
    return (
        *TARGETS.problems(TargetType),
        *ENGINES.problems(Engine),
        *JOB_KEYS.problems_with(JobTraits.model),
        *SECTIONS.problems_with(Migration.model),
        *filter(None, (absent_plugins(),)),
    )


def keys(parameters: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (`key=VALUE`, its meaning) of each key in a JSON Schema of parameters."""
    return tuple((f"{key}={value}", meaning) for key, value, meaning in keys_of(parameters))


def _target(kind: TargetType) -> ListedTarget:
    return ListedTarget(
        name=kind.name,
        label=kind.label,
        address=kind.address,
        streams=tuple(
            spec.name
            for spec in specs()
            if spec.name in kind.streams or (spec.has_integers and OFFSETS in kind.streams)
        ),
        engines=_engines(kind),
        parameters=_schema(kind.parameters),
        aliases=kind.parameters.options,
    )


def _engines(kind: TargetType) -> tuple[str, ...]:
    return tuple(
        engine.name
        for engine in registered()
        if any(kind.name in (way.target, way.also_writes) for way in ways_of(engine.name))
    )


def _schema(parameters: type[Settings]) -> Mapping[str, Any]:
    return parameters.model_json_schema()
