"""Tables of a Flink checkpoint: its operators, what the sink holds open, and the way back to an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from offsetwise import wording
from offsetwise.console import escaping
from offsetwise.console.checkpoint.frames import integers
from offsetwise.model import Checkpoint, Operator, RetainedCheckpoint


def operator_table(operators: Sequence[Operator]) -> pd.DataFrame:
    """Give one row per operator; one without a uid says so, since its id then comes from the job's graph."""
    return pd.DataFrame(
        {
            "operator": [escaping.cell(one.name or "(not named)") for one in operators],
            "uid": [escaping.cell(one.uid or "–") for one in operators],
            "parallelism": integers([one.parallelism for one in operators]),
            "most": integers([one.max_parallelism for one in operators]),
            "states": integers([len(one.states) for one in operators]),
            "state": [wording.size(sum(state.size_bytes for state in one.states)) for one in operators],
            "finished": ["yes" if one.finished else "no" for one in operators],
            "id (hash)": [escaping.cell(one.id) for one in operators],
        }
    )


def state_table(operators: Sequence[Operator]) -> pd.DataFrame:
    """Give one row per state of every operator."""
    found = [(one, state) for one in operators for state in one.states]
    return pd.DataFrame(
        {
            "operator": [escaping.cell(one.name or one.uid or one.id) for one, _ in found],
            "state": [escaping.cell(state.name) for _, state in found],
            "kind": [state.kind for _, state in found],
            "elements": integers([state.elements for _, state in found]),
            "bytes": integers([state.size_bytes for _, state in found]),
            "where": [", ".join(state.places) for _, state in found],
        }
    )


def transaction_table(checkpoint: Checkpoint) -> pd.DataFrame:
    """Give one row per transaction that the checkpoint holds open."""
    names = {one.id: one.name or one.uid or one.id for one in checkpoint.operators}
    found = checkpoint.transactions
    return pd.DataFrame(
        {
            "transactional id": [escaping.cell(one.transactional_id) for one in found],
            "state": [one.state for one in found],
            "producer id": integers([one.producer_id for one in found]),
            "epoch": integers([one.epoch for one in found]),
            "of checkpoint": integers([one.checkpoint_id for one in found]),
            "schema": [one.schema or "?" for one in found],
            "operator": [escaping.cell(names.get(one.operator, one.operator)) for one in found],
        }
    )


def retained_table(retained: Sequence[RetainedCheckpoint]) -> pd.DataFrame:
    """Give the other checkpoints that the job retained, newest first."""
    return pd.DataFrame(
        {
            "checkpoint": integers([one.id for one in retained]),
            "written (UTC)": [wording.moment(one.written_ms) for one in retained],
            "folder": [escaping.cell(one.uri) for one in retained],
        }
    )


def again_table(earlier: Checkpoint, later: Checkpoint) -> pd.DataFrame:
    """Give how far apart two checkpoints of one job stand in every partition that both have, in the earlier's order.

    `read again` is negative where the earlier one stands further on.
    """
    ends = {(source.id, at.topic, at.partition): at.offset for source in later.sources for at in source.positions}
    found = [
        (at, ends[source.id, at.topic, at.partition])
        for source in earlier.sources
        for at in source.positions
        if (source.id, at.topic, at.partition) in ends
    ]
    return pd.DataFrame(
        {
            "topic": [escaping.cell(at.topic) for at, _ in found],
            "p": integers([at.partition for at, _ in found]),
            "continues at": integers([at.offset for at, _ in found]),
            "the named one at": integers([end for _, end in found]),
            "read again": integers([end - at.offset for at, end in found]),
        }
    )
