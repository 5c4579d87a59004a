"""What a savepoint tells about the ways a Flink job can move, and the commands around ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.findings.codes import Code, describe
from offsetwise.model import Checkpoint, Comparison
from offsetwise.plan.request import Reason

_STOP: Final = "flink stop --type canonical --savepointPath SAVEPOINTS JOB_ID"
_NAMES_SINCE: Final = 5
"""From this version of `_metadata` on it holds the uids themselves."""
_ELSEWHERE: Final = frozenset({"absolute", "segment"})


def is_flink(comparison: Comparison) -> bool:
    """Whether a Flink job's checkpoint or savepoint was compared."""
    return comparison.checkpoint is not None and comparison.checkpoint.engine == "flink"


def against_savepoint(checkpoint: Checkpoint) -> Iterator[Reason]:
    """Say why a checkpoint cannot be copied as an edited savepoint."""
    if checkpoint.engine != "flink":
        told = f"The checkpoint is one of {checkpoint.engine}, not of Flink."
        yield Reason(code="NO_SAVEPOINT", told=told, fix="Write to spark-checkpoint, or to a consumer group.")
        return
    if checkpoint.saved is not None and not checkpoint.saved.aligned:
        told = "It is unaligned: records in flight stand in its state, read before its offsets."
        fix = describe(Code.CHECKPOINT_UNALIGNED).remedy
        yield Reason(code=Code.CHECKPOINT_UNALIGNED, told=told, fix=fix)
    outside = [
        f"{state.name} of operator {each.uid or each.name or each.id}"
        for each in checkpoint.operators
        for state in each.states
        if _ELSEWHERE.intersection(state.places)
    ]
    if outside:
        told = f"State stands outside of its folder, for example {outside[0]}, and a copy would share it with the job."
        yield Reason(code="STATE_ELSEWHERE", told=told, fix=f"Take a savepoint: {_STOP}")


def against_new_uid(comparison: Comparison) -> Iterator[Reason]:
    """Say why the source cannot be given a new uid, as far as the savepoint tells."""
    checkpoint = comparison.checkpoint
    if checkpoint is None:
        return
    unnamed = [each.name or each.id for each in checkpoint.operators if each.states and each.uid is None]
    if not unnamed:
        return
    version = None if checkpoint.saved is None else checkpoint.saved.format_version
    if version is not None and version >= _NAMES_SINCE:
        told = (
            f"Operator {unnamed[0]} has no uid: its id is made from the job's graph, and another source may make it "
            "another one, so that its state is lost."
        )
        yield Reason(code="NO_UID", told=told, fix="Edit the savepoint.")
    else:
        told = f"It is not known whether all operators have uids: the savepoint holds hashes only ({unnamed[0]})."
        yield Reason(code="NO_UID", told=told, fix="Look into the job's code, or edit the savepoint.")


def around(commands: tuple[str, ...], *, new_uid: bool) -> tuple[str, ...]:
    """Give our commands between those that stop the job and start it on the new cluster."""
    *first, verify = commands
    start = "flink run -s SAVEPOINT --allowNonRestoredState JOB" if new_uid else "flink run -s DIR JOB"
    return (_STOP, *first, verify, start)
