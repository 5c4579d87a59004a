"""What the Checkpoint screen derives from a reading, computed once per reading: a rerun of the page looks it up.

Every function is keyed by the id of what is held. Results are shared by all sessions and must not be changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from offsetwise import files
from offsetwise.batches import BatchFact, History, Moment, Standing, facts, history_of, moments, standing
from offsetwise.console.checkpoint import figures, frames
from offsetwise.console.desk import Held
from offsetwise.console.escaping import plain
from offsetwise.console.palette import Palette
from offsetwise.sources.spark_reading import CheckpointReading

ALL: Final = "all topics"
Reading = Held[CheckpointReading]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The partitions that the charts count: all, one topic's, or a single one."""

    name: str
    first: int
    count: int

    @property
    def lanes(self) -> slice:
        """Its columns in the history."""
        return slice(self.first, self.first + self.count)


def history(held: Reading) -> History:
    """Give the retained batches side by side."""
    return _history(held.id, held)


def topics(held: Reading) -> dict[str, Scope]:
    """Give what can be chosen, by name: all topics where there are several, then each."""
    return _topics(held.id, held)


def partitions(held: Reading, topic: Scope) -> list[int]:
    """Give the numbers of a topic's partitions."""
    return _partitions(held.id, topic, held)


def partition(held: Reading, topic: Scope, number: int) -> Scope:
    """Give one partition of a topic."""
    place = partitions(held, topic).index(number)
    return Scope(name=f"{topic.name}-{number}", first=topic.first + place, count=1)


def batch_facts(held: Reading, scope: Scope) -> tuple[BatchFact, ...]:
    """Give the facts of every batch, counted over a scope."""
    return _facts(held.id, scope, held)


def batch_table(held: Reading, scope: Scope) -> pd.DataFrame:
    """Give the table of batches, counted over a scope."""
    return _batch_table(held.id, scope, held)


def batch_charts(held: Reading, scope: Scope, colours: Palette) -> tuple[Any, Any, Any]:
    """Give the charts of offsets, records and intervals."""
    return _batch_charts(held.id, scope, colours, held)


def steps(held: Reading) -> dict[str, Moment]:
    """Give the steps of the history, by their name in an address."""
    return _steps(held.id, held)


def standing_at(held: Reading, moment: Moment, scope: Scope) -> Standing:
    """Give what a failure at a step would read again."""
    return _standing(held.id, moment, scope, held)


def step_places(held: Reading, moment: Moment, scope: Scope) -> tuple[int, ...]:
    """Give the lanes that the picture of a step shows: all, or those with most to read again, in log order."""
    return _step_places(held.id, moment, scope, held)


def step_chart(held: Reading, moment: Moment, scope: Scope, colours: Palette) -> tuple[Any, pd.DataFrame]:
    """Give the picture of a step and the numbers behind it."""
    return _step_chart(held.id, moment, scope, colours, held)


def moved_table(held: Reading, first: int, second: int) -> pd.DataFrame:
    """Give what moved between two rows of the history."""
    return _moved_table(held.id, first, second, held)


def position_table(held: Reading) -> pd.DataFrame:
    """Give where reading continues in every partition."""
    return _position_table(held.id, held)


def checkpoint_file(held: Reading) -> bytes:
    """Write the checkpoint as a file of ours."""
    return files.dump(held.value.checkpoint).encode()


@st.cache_resource(max_entries=8, show_spinner=False)
def _history(held_id: int, _held: Reading) -> History:  # noqa: ARG001 - the key
    return history_of(_held.value.checkpoint.batches, _held.value.initial)


@st.cache_resource(max_entries=8, show_spinner=False)
def _topics(held_id: int, _held: Reading) -> dict[str, Scope]:  # noqa: ARG001 - the key
    found = history(_held)
    sources = {log.source for log in found.logs}
    made = {}
    for log in sorted(found.logs, key=lambda log: (log.topic, log.source)):
        name = log.topic if len(sources) == 1 else f"{log.topic} (source {log.source})"
        made[name] = Scope(name=name, first=log.first, count=log.count)
    if len(made) > 1:
        name = next(plain(ALL + mark) for mark in ("", " of the query", " …") if ALL + mark not in made)
        made = {name: Scope(name=name, first=0, count=len(found.lanes)), **made}
    return made


@st.cache_resource(max_entries=32, show_spinner=False)
def _partitions(held_id: int, topic: Scope, _held: Reading) -> list[int]:  # noqa: ARG001 - the key
    return [lane.partition for lane in history(_held).lanes[topic.lanes]]


@st.cache_resource(max_entries=64, show_spinner=False)
def _facts(held_id: int, scope: Scope, _held: Reading) -> tuple[BatchFact, ...]:  # noqa: ARG001 - the key
    return facts(history(_held), scope.lanes)


@st.cache_resource(max_entries=64, show_spinner=False)
def _batch_table(held_id: int, scope: Scope, _held: Reading) -> pd.DataFrame:  # noqa: ARG001 - the key
    return frames.batch_table(batch_facts(_held, scope))


@st.cache_resource(max_entries=64, show_spinner=False)
def _batch_charts(held_id: int, scope: Scope, colours: Palette, _held: Reading) -> tuple[Any, Any, Any]:  # noqa: ARG001 - the key
    found = batch_facts(_held, scope)
    return (
        figures.offsets(found, colours, scope.name, lanes=scope.count),
        figures.records(found, colours),
        figures.intervals(found, colours),
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _steps(held_id: int, _held: Reading) -> dict[str, Moment]:  # noqa: ARG001 - the key
    found = history(_held)
    return {moment.name(found): moment for moment in moments(found)}


@st.cache_resource(max_entries=128, show_spinner=False)
def _standing(held_id: int, moment: Moment, scope: Scope, _held: Reading) -> Standing:  # noqa: ARG001 - the key
    return standing(history(_held), moment, scope.lanes)


@st.cache_resource(max_entries=128, show_spinner=False)
def _step_places(held_id: int, moment: Moment, scope: Scope, _held: Reading) -> tuple[int, ...]:  # noqa: ARG001 - the key
    at = standing_at(_held, moment, scope)
    if scope.count <= figures.MAX_LANES:
        return tuple(range(scope.count))
    moved = np.where(at.start_known & at.end_known, np.abs(at.end - at.start), 0)
    most = np.argsort(-moved, kind="stable")[: figures.MAX_LANES]
    return tuple(sorted(map(int, most)))


@st.cache_resource(max_entries=128, show_spinner=False)
def _step_chart(
    held_id: int,  # noqa: ARG001 - the key
    moment: Moment,
    scope: Scope,
    colours: Palette,
    _held: Reading,
) -> tuple[Any, pd.DataFrame]:
    found, at, places = history(_held), standing_at(_held, moment, scope), step_places(_held, moment, scope)
    return figures.step(found, at, places, scope.lanes, colours), frames.step_table(found, at, places, scope.first)


@st.cache_resource(max_entries=16, show_spinner=False)
def _moved_table(held_id: int, first: int, second: int, _held: Reading) -> pd.DataFrame:  # noqa: ARG001 - the key
    return frames.moved_table(history(_held), first, second)


@st.cache_resource(max_entries=8, show_spinner=False)
def _position_table(held_id: int, _held: Reading) -> pd.DataFrame:  # noqa: ARG001 - the key
    return frames.position_table(_held.value.checkpoint)
