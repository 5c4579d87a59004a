"""The flat form of a checkpoint in files: its engine's own fields next to the common ones.

In format version 1 every file has the fields of every engine; those of others are empty. The standard library is
enough, because Spark's workers answer in this form.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from functools import cache
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from offsetwise.engines.engine import CheckpointEngine
from offsetwise.engines.registry import engine_of, engines
from offsetwise.model import Checkpoint, CheckpointSource, MarkedPosition, ShardPosition, ShardRange, SourcePosition

NAMES: Final = {"pins": "offset_files"}
"""The names of fields in files, if they differ."""
ALWAYS: Final = ("last_planned_batch", "last_committed_batch", "reruns_batch")
"""Keys that a file of version 1 must have, null if an engine does not work in batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatSource:
    """A source as files carry it: its positions are those of partitions, or of shards."""

    index: int
    id: str
    kind: str
    positions: tuple[SourcePosition, ...] | tuple[ShardPosition, ...] = ()
    raw: str | None = None
    marked: tuple[MarkedPosition, ...] = ()
    ranges: tuple[ShardRange, ...] = ()

    @classmethod
    def of(cls, source: CheckpointSource) -> FlatSource:
        return cls(
            index=source.index,
            id=source.id,
            kind=source.kind,
            positions=source.shards or source.positions,
            raw=source.raw,
            marked=source.marked,
            ranges=source.ranges,
        )

    def whole(self) -> CheckpointSource:
        return CheckpointSource(
            index=self.index,
            id=self.id,
            kind=self.kind,
            positions=tuple(position for position in self.positions if isinstance(position, SourcePosition)),
            raw=self.raw,
            marked=self.marked,
            shards=tuple(position for position in self.positions if isinstance(position, ShardPosition)),
            ranges=self.ranges,
        )


def flat_type() -> type:
    """Return the frozen dataclass with the fields of a checkpoint and of all engines' details."""
    return _flat_class(engines())


def flatten(checkpoint: Checkpoint) -> Any:
    common = {NAMES.get(name, name): getattr(checkpoint, name) for name in _common()}
    common["sources"] = tuple(map(FlatSource.of, checkpoint.sources))
    details = {attribute.name: getattr(checkpoint.details, attribute.name) for attribute in fields(checkpoint.details)}
    return flat_type()(**dict.fromkeys(ALWAYS) | common | details)


def whole(flat: Any) -> Checkpoint:
    """Return the checkpoint of a flat form.

    Raises:
        VersionError: It belongs to an engine that this release does not know.
        ValueError: It lacks a value that every checkpoint of its engine has.
    """
    kind = engine_of(flat.engine).details
    details = {attribute.name: getattr(flat, attribute.name) for attribute in fields(kind)}
    lacking = next((n for n in details if details[n] is None and n not in _nullable(kind)), None)
    if lacking is not None:
        raise ValueError(f"it lacks {lacking!r}, which every checkpoint of {flat.engine} has")
    common = {name: getattr(flat, NAMES.get(name, name)) for name in _common()}
    common["sources"] = tuple(source.whole() for source in flat.sources)
    return Checkpoint(details=kind(**details), **common)


@cache
def _common() -> tuple[str, ...]:
    return tuple(attribute.name for attribute in fields(Checkpoint) if attribute.name != "details")


def _nullable(kind: type) -> frozenset[str]:
    return frozenset(name for name, hint in get_type_hints(kind).items() if NoneType in get_args(hint))


@cache
def _flat_class(known: tuple[CheckpointEngine, ...]) -> type:
    results: dict[str, tuple[str, Any, Any]] = {}
    hints = get_type_hints(Checkpoint, include_extras=True) | {"sources": tuple[FlatSource, ...]}
    for attribute in fields(Checkpoint):
        if attribute.name != "details":
            name = NAMES.get(attribute.name, attribute.name)
            results[name] = (name, hints[attribute.name], field(default=attribute.default))
    for engine in known:
        hints = get_type_hints(engine.details, include_extras=True)
        for attribute in fields(engine.details):
            needed = attribute.default is MISSING and attribute.name not in ALWAYS
            hint, default = (
                (hints[attribute.name] | None, None) if needed else (hints[attribute.name], attribute.default)
            )
            entry = (attribute.name, hint, field(default=default))
            if results.setdefault(attribute.name, entry)[1] != hint:
                raise ValueError(
                    f"{engine.name} has a field {attribute.name!r}, and so has another engine or every one"
                )
    for name in ALWAYS:
        results.setdefault(name, (name, int | None, field()))
    return make_dataclass(
        "Checkpoint",
        results.values(),
        namespace={"__doc__": Checkpoint.__doc__, "__module__": __name__},
        frozen=True,
        slots=True,
        kw_only=True,
    )
