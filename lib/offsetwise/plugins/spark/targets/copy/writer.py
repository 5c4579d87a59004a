"""A copy of a Spark checkpoint with other positions: state, commits and query id kept, the original untouched.

Way A of `spec/spark-checkpoints.md`. Spark never edits state files in place, so they are linked.
"""

from __future__ import annotations

from typing import Final

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.fitting import requirement
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.files import unfinished
from offsetwise.apply.verification.seen import Seen, for_all
from offsetwise.apply.writing import Context, Writer
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep, Turnout
from offsetwise.plan.target import has_opaque_positions
from offsetwise.plugins.spark.targets.copy.spec import TYPE
from offsetwise.plugins.spark.targets.kinesis.verification import began_shards
from offsetwise.plugins.spark.targets.rewrite import CheckpointRewrite, foreign, rewrite
from offsetwise.plugins.spark.targets.verification import began
from offsetwise.plugins.spark.targets.written import GUARD, ran_since
from offsetwise.storage.folders import open_tree


def _decided(plan: Plan, context: Context) -> CheckpointRewrite:
    TYPE.require_fit(plan, "The copy")
    folder = open_tree(requirement(plan).uri, roots=context.read_roots)
    return rewrite(plan, folder, young_s=context.young_s)


def _foreign(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    return foreign(plan, open_tree(step.place, roots=context.write_roots))


_COPIES: Final = CopyWriter(
    decide=_decided,
    foreign=_foreign,
    links="state/",
    guard=GUARD,
    ran=ran_since,
    folders=frozenset({"metadata", ".metadata.crc", "offsets", "commits", "sources", "state"}),
)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _COPIES


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:  # noqa: ARG001 - as above
    absent = unfinished(step.place, readers)
    if absent is not None:
        return for_all(plan, Turnout.UNKNOWN, absent)
    if has_opaque_positions(plan):
        return began_shards(plan, step, readers)
    return began(plan, step, readers, step.place, fresh=False)
