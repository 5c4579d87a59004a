"""What a savepoint tells about the ways a Flink job can move, and the commands around ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings.codes import Code, describe
from offsetwise.model import Checkpoint, Comparison
from offsetwise.plan.request import Reason

_STOP: Final = "flink stop --type canonical --savepointPath SAVEPOINTS JOB_ID"
_START: Final = {
    "new-operator-uid": "flink run -s SAVEPOINT --allowNonRestoredState JOB",
    "fresh-starting-offsets": "flink run JOB",
}
"""How the job starts on the new cluster, by way; from the copy where nothing else is named."""
_FROM_COPY: Final = "flink run -s DIR JOB"
_FROM_COPY_IN_SQL: Final = "SET 'execution.state-recovery.path' = 'DIR';  -- then the job's INSERT, in the same session"
_DROP: Final = "Edit the savepoint, or drop the source's state: --target flink-savepoint-without-sources."
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


def against_new_uid(comparison: Comparison, job: JobTraits) -> Iterator[Reason]:
    """Say why the source cannot be given a new uid, as far as the savepoint and people tell."""
    checkpoint = comparison.checkpoint
    if job.sql:
        told = "It is a SQL job, whose operators get no uids: none can be changed."
        yield Reason(code="NO_UID", told=told, fix=_DROP)
    elif job.uids is False:
        told = "Operators are stated to have no uids: another source may give them other ids, so that state is lost."
        yield Reason(code="NO_UID", told=told, fix=_DROP)
    if checkpoint is None or job.sql or job.uids is not None:
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
        yield Reason(code="NO_UID", told=told, fix=_DROP)
    else:
        told = f"It is not known whether all operators have uids: the savepoint holds hashes only ({unnamed[0]})."
        yield Reason(code="NO_UID", told=told, fix="Look into the job's code, and state `uids`.")


def questions(way: str, comparison: Comparison, job: JobTraits) -> Iterator[str]:
    """Ask what the savepoint does not tell, and what the judgement of one way would follow.

    Args:
        way: Its name.
        comparison: The comparison.
        job: What is stated; an answer is stated there too.
    """
    named = comparison.checkpoint is not None and any(each.uid is not None for each in comparison.checkpoint.operators)
    if way == "new-operator-uid":
        if job.sql is None and not named:
            yield "Is it a SQL job? Its operators get no uids. (`sql`)"
        if job.uids is None and not named and not job.sql:
            yield "Has every operator with state a uid of its own? (`uids`)"
    if way in ("new-operator-uid", "source-state-dropped") and job.commits_to is None:
        yield "Which group does the job commit to, and can its source start from the group's offsets? (`commits_to`)"
    if way == "topic-rename" and job.subscription_changeable is None:
        yield "Can the job read topics of other names? (`subscription_changeable`)"
    if way == "producers-first" and job.needs_retained_data is None:
        yield "Do records that lie on the old cluster only still matter? (`needs_retained_data`)"


def around(commands: tuple[str, ...], way: str, *, sql: bool) -> tuple[str, ...]:
    """Give our commands between those that stop the job and start it on the new cluster."""
    return (_STOP, *commands, _START.get(way, _FROM_COPY_IN_SQL if sql else _FROM_COPY))
