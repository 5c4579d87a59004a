"""Remedies about checkpoints that are files of any name."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import SourcePosition
from offsetwise.plan.refusals import no_state_to_copy
from tests.engines.test_files_of_engines import JOURNAL, LEDGER, add, written
from tests.plan.scene import ETL, comparison, drafted
from tests.remedies.walk import Scene, Steps, walk


@walk("engines/checkpoint.py::_of_file", "Name the part of the file that is meant behind a #")
def file_of_two_engines(scene: Scene) -> Steps:
    for engine in (LEDGER, JOURNAL):
        add(engine, scene.patch)
    named = [written(scene.folder, "ledger or journal")]
    return Steps(lambda: read_checkpoint(named[-1]) and None, lambda: named.append(f"{named[-1]}#ledger"))


@walk("plan/refusals.py::no_state_to_copy", "Write to a consumer group")
def file_of_offsets_to_copy(scene: Scene) -> Steps:
    add(LEDGER, scene.patch)
    read = read_checkpoint(written(scene.folder, "ledger"))
    (source,) = read.sources
    of_orders = replace(source, positions=(SourcePosition(topic="orders", partition=0, offset=1050),))
    kept = replace(read, sources=(of_orders,))
    return Steps(
        lambda: tuple(no_state_to_copy(kept, "checkpoint of Spark")),
        lambda: None,
        lambda: drafted(comparison(checkpoint=kept), ETL),
    )
