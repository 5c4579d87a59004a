"""Values derived from an answer, computed once: a rerun of the page only looks them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, cast

import streamlit as st

from offsetwise.clusters.pairs import TopicPair
from offsetwise.console.answers import CachedAnswer
from offsetwise.fleets import FleetRow
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import LagPartition, PartitionComparison, PartitionState
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.strategies import Strategy
from offsetwise.review.difference import Difference
from offsetwise.review.sets.sheet import SetSheet
from offsetwise.review.sheet import Sheet

Params = ParamSpec("Params")
Made = TypeVar("Made")


class _Keys(dict[str | type[Any], Callable[[Any], Any]]):
    """Copies its items for Streamlit, which iterates while another thread may import a module that adds one."""

    def items(self) -> Any:
        return [*super().items()]


_KEYS: Final = _Keys(
    {
        CachedAnswer: lambda snapshot: snapshot.id,
        PartitionComparison: lambda row: (row.source, row.topic, row.partition),
        LagPartition: lambda row: row.key,
        FleetRow: lambda row: row.uri.encode("utf-8", "surrogatepass"),  # a folder's name need not be UTF-8
        TopicPair: lambda pair: pair.key,
        PartitionState: lambda log: log.partition,
        # Their owner is identified by its id.
        LagView: lambda _: None,
        PartitionView: lambda _: None,
        Sheet: lambda sheet: (sheet.digest, sheet.row.id, len(sheet.versions)),
        SetSheet: lambda sheet: sheet.digest,
        Difference: lambda difference: (difference.before, difference.after),
        DraftRequest: repr,
        Strategy: lambda way: (way.kind.title, *way.why_not),
    }
)
"""Cache keys of values that would be slow to hash: an answer by its id, a row of it by its name."""


def told_apart_by(key: Callable[[Any], Any]) -> Callable[[type[Made]], type[Made]]:
    def declare(kind: type[Made]) -> type[Made]:
        _KEYS[kind] = key
        return kind

    return declare


def _of_tuple(values: tuple[Any, ...]) -> str | list[Any]:
    """Return one text for hundreds of rows: Streamlit's hashing takes longer per value than per character."""
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return [*values]
    (kind,) = kinds
    key = _KEYS.get(kind)
    return [*values] if key is None else repr([key(value) for value in values])


_KEYS[tuple] = _of_tuple


def cached(entries: int, *, spinner: bool | str = False) -> Callable[[Callable[Params, Made]], Callable[Params, Made]]:
    """Cache the results of a function by its arguments, the last `entries` of them.

    Results are shared by all sessions and must not be changed. Arguments called `_name` are not part of the key.
    """
    decorator = st.cache_resource(max_entries=entries, show_spinner=spinner, hash_funcs=_KEYS)
    return cast("Callable[[Callable[Params, Made]], Callable[Params, Made]]", decorator)
