"""A copy of a Spark checkpoint with other positions: state, commits and query id kept, the original untouched.

Way A of `spec/spark-checkpoints.md`. Spark never edits state files in place, so they are linked.
"""

from __future__ import annotations

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.fitting import requirement
from offsetwise.apply.rewrite import Rewrite, foreign, rewrite
from offsetwise.apply.writing import Context
from offsetwise.model import Plan, ReceiptStep
from offsetwise.sources.storage import open_tree


def _decided(plan: Plan, context: Context) -> Rewrite:
    folder = open_tree(requirement(plan).uri, roots=context.read_roots)
    return rewrite(plan, folder, young_s=context.young_s)


def _foreign(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    return foreign(plan, open_tree(step.place, roots=context.write_roots))


_COPIES = CopyWriter(
    decide=_decided,
    foreign=_foreign,
    links="state/",
    folders=frozenset({"metadata", ".metadata.crc", "offsets", "commits", "sources", "state"}),
)
prepare, write, undo, look = _COPIES.prepare, _COPIES.write, _COPIES.undo, _COPIES.look
