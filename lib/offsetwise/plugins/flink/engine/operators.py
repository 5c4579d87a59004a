from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from offsetwise.plugins.flink.engine.binary import DamagedError
from offsetwise.plugins.flink.engine.details import Operator, OperatorState
from offsetwise.plugins.flink.engine.elements import element_bounds
from offsetwise.plugins.flink.engine.metadata import Metadata, OperatorEntry, OperatorHandle

MODES: Final = ("split", "union", "broadcast")


def operators_of(metadata: Metadata, prefixes: Mapping[str, str], hybrid: Collection[str]) -> tuple[Operator, ...]:
    """Return the operators, in the file's order.

    Args:
        metadata: The parsed file.
        prefixes: The prefix of transactional ids, by operator.
        hybrid: The operators of HybridSources that read Kafka.
    """
    return tuple(
        Operator(
            id=entry.id,
            name=entry.name or None,
            uid=entry.uid or None,
            parallelism=entry.parallelism,
            max_parallelism=entry.max_parallelism,
            finished=entry.finished or (bool(entry.subtasks) and all(subtask.finished for subtask in entry.subtasks)),
            states=states_of(entry, hybrid=entry.id in hybrid),
            transactional_id_prefix=prefixes.get(entry.id),
        )
        for entry in metadata.operators
    )


def states_of(entry: OperatorEntry, *, hybrid: bool = False) -> tuple[OperatorState, ...]:
    states = [*_named(entry, raw=False), *_named(entry, raw=True)]
    keyed = [subtask for subtask in entry.subtasks if subtask.keyed_kinds]
    if keyed:
        states.append(
            OperatorState(
                name="keyed state",
                kind="keyed",
                elements=None,
                size_bytes=sum(subtask.keyed_bytes for subtask in keyed),
                places=tuple(sorted(frozenset().union(*(subtask.keyed_kinds for subtask in keyed)))),
            )
        )
    if entry.coordinator is not None:
        states.append(
            OperatorState(
                name="coordinator of a HybridSource" if hybrid else "coordinator",
                kind="coordinator",
                elements=None,
                size_bytes=entry.coordinator.size,
                places=(entry.coordinator.kind,),
            )
        )
    channels = sum(subtask.channels for subtask in entry.subtasks)
    if channels:
        states.append(
            OperatorState(
                name="records in flight",
                kind="in-flight",
                elements=channels,
                size_bytes=sum(subtask.channel_bytes for subtask in entry.subtasks),
                places=(),
            )
        )
    return tuple(states)


def _named(entry: OperatorEntry, *, raw: bool) -> list[OperatorState]:
    elements: dict[tuple[str, str], int] = {}
    sizes: dict[tuple[str, str], int] = {}
    storage_kinds: dict[tuple[str, str], set[str]] = {}
    for subtask in entry.subtasks:
        handle = subtask.raw if raw else subtask.managed
        if handle is None:
            continue
        bounds = _bounds(handle)
        for state in handle.states:
            key = (state.name, "raw" if raw else MODES[state.mode])
            elements[key] = elements.get(key, 0) + len(state.offsets)
            sizes[key] = sizes.get(key, 0) + sum(end - start for start, end in bounds.get(state.name, ()))
            storage_kinds.setdefault(key, set()).update(() if handle.handle is None else (handle.handle.kind,))
    return [
        OperatorState(
            name=key[0],
            kind=key[1],
            elements=None if raw else count,
            size_bytes=sizes[key],
            places=tuple(sorted(storage_kinds[key])),
        )
        for key, count in elements.items()
    ]


def _bounds(handle: OperatorHandle) -> Mapping[str, tuple[tuple[int, int], ...]]:
    """Return the bounds of elements; empty if they are damaged, which their reader reports."""
    try:
        return element_bounds(handle)
    except DamagedError:
        return {}
