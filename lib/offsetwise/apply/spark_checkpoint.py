"""A copy of a Spark checkpoint with other positions: state, commits and query id kept, the original untouched.

Way A of `spec/spark-checkpoints.md`. Spark never edits state files in place, so they are linked.
"""

from __future__ import annotations

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.fitting import requirement
from offsetwise.apply.rewrite import Rewrite, rewrite
from offsetwise.apply.writing import Context
from offsetwise.model import Plan
from offsetwise.sources.storage import open_tree


def _decided(plan: Plan, context: Context) -> Rewrite:
    folder = open_tree(requirement(plan).uri, roots=context.read_roots)
    return rewrite(plan, folder, young_s=context.young_s)


_COPIES = CopyWriter(decide=_decided, links="state/")
prepare, write, undo, look = _COPIES.prepare, _COPIES.write, _COPIES.undo, _COPIES.look
