"""Lag from the positions that a comparison proved, instead of those that a mirror claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from offsetwise.lag.moments import Key
from offsetwise.lag.view import LagView, PartitionView, judged
from offsetwise.model import Cluster, Comparison, LagPartition, LagSample, PartitionComparison
from offsetwise.position import offset_or_none

Proven = Mapping[Key, PartitionComparison]
"""Rows of a comparison whose target offset is proven, by source, topic and partition."""


def proven_of(comparison: Comparison | None) -> Proven:
    """Return the rows whose target offset is proven and an integer."""
    return {
        (row.source, row.topic, row.partition): row
        for row in (() if comparison is None else comparison.partitions)
        if row.exactness.proven and offset_or_none(row.new_offset) is not None
    }


def is_proven(row: LagPartition, proven: Proven) -> bool:
    comparison = proven.get(row.key)
    return comparison is not None and row.position is not None and row.position == comparison.old_offset


def counted_from(sample: LagSample, proven: Proven) -> LagSample:
    rows = (_at(row, proven[row.key]) if is_proven(row, proven) else row for row in sample.partitions)
    return replace(sample, partitions=tuple(rows)) if proven else sample


def view_from(view: LagView, proven: Proven) -> LagView:
    """Return a view whose newest sample counts from the proven offsets.

    Its totals over time are still the claimed ones.
    """
    newest = replace(view.newest, sample=counted_from(view.newest.sample, proven))
    return replace(view, newest=newest) if proven else view


def partition_from(view: PartitionView, proven: Proven) -> PartitionView:
    if view.key not in proven:
        return view
    history = tuple(replace(sample, sample=counted_from(sample.sample, proven)) for sample in view.history)
    new = judged([sample.sample for sample in history], view.key, Cluster.NEW)
    return replace(view, history=history, new=new)


def _at(row: LagPartition, comparison: PartitionComparison) -> LagPartition:
    return replace(row, new_position=comparison.new_offset, method=comparison.method, exactness=comparison.exactness)
