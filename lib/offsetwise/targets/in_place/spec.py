"""The Spark checkpoint itself, its originals kept beside."""

from __future__ import annotations

from typing import Final

from offsetwise.engines.spark.engine import SPARK
from offsetwise.plan.recorded import edited_in_place
from offsetwise.plan.target import Spec, Where
from offsetwise.plan.ways import Way
from offsetwise.targets.spark.spec import against_checkpoint

_NAME: Final = "spark-checkpoint-in-place"
_WAY: Final = Way(
    name="checkpoint-in-place",
    engine=SPARK.name,
    order=20,
    target=_NAME,
    title="state-preserving edit, in place",
    keeps=("the state", "the query id and batch ids, so the sink stays exactly-once", "the originals of edited files"),
    gives_up=("the untouched old folder: going back means putting the kept originals back",),
    needs=("the query is stopped", "the folder under a write root", "proven positions, of a pending batch both ends"),
)
SPEC: Final = Spec(
    name=_NAME,
    label="Spark checkpoint, edited in place",
    where=Where.CHECKPOINT,
    ways=(_WAY,),
    against=against_checkpoint,
    recorded=edited_in_place,
    notes=("keep", "guard"),
    keeps_state=True,
)
