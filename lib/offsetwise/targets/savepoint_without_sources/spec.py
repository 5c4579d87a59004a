"""A copy of a Flink savepoint that keeps no position: its Kafka sources begin as the job says."""

from __future__ import annotations

from typing import Final

from offsetwise.engines.flink.engine import FLINK
from offsetwise.plan.recorded import edited
from offsetwise.plan.ways import Way
from offsetwise.targets.flink.spec import (
    START_FROM_COPY,
    START_FROM_COPY_IN_SQL,
    STOP,
    against_savepoint,
    whose_group,
)
from offsetwise.targets.spec import Spec, Where

_NAME: Final = "flink-savepoint-without-sources"
_WAY: Final = Way(
    name="source-state-dropped",
    engine=FLINK.name,
    order=90,
    target=_NAME,
    beside="consumer-group",
    title="drop the source's state, in a copy of the savepoint",
    keeps=("the state of all other operators", "the positions, in the group", "the job's uids: SQL too"),
    gives_up=("the state of the source",),
    needs=(
        "the group's offsets on the new cluster, or a file that says where to begin, in the same plan",
        "a source that starts there: `scan.startup.mode` in SQL, its starting offsets in code",
        "a group without members, and a start before its offsets expire",
    ),
    questions=whose_group,
    stop=STOP,
    start=START_FROM_COPY,
    start_in_sql=START_FROM_COPY_IN_SQL,
)
SPEC: Final = Spec(
    name=_NAME,
    label="Flink savepoint, its sources' state dropped in a copy",
    where=Where.OUTPUT,
    ways=(_WAY,),
    against=against_savepoint,
    recorded=edited,
    keeps_state=True,
    takes_marks=True,
    needs_beside=("consumer-group:GROUP", "starting-offsets"),
)
