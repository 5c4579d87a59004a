"""Remedies about checkpoints that are files of any name."""

from __future__ import annotations

import gzip
from dataclasses import replace

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.model import SourcePosition
from offsetwise.plan.refusals import no_state_to_copy
from tests.apply.plans import drafted as plan_of
from tests.commands import call
from tests.engines.test_files_of_engines import JOURNAL, LEDGER, add, written
from tests.plan.scene import ETL, comparison, drafted
from tests.plugins.positions.test_commands import CLUSTERS, SNAPSHOTS
from tests.plugins.positions.test_target import TARGET as PRINTED_BACK
from tests.plugins.positions.test_target import compared as positions_compared
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_targets import WRITERS
from tests.remedies.walks_targets import written as write_plan


@walk("engines/checkpoint.py::_of_file", "Name the part of the file that is meant behind a #")
def file_of_two_engines(scene: Scene) -> Steps:
    for engine in (LEDGER, JOURNAL):
        add(engine, scene.patch)
    named = [written(scene.folder, "ledger or journal")]
    return Steps(lambda: read_checkpoint(named[-1]) and None, lambda: named.append(f"{named[-1]}#ledger"))


@walk("plan/refusals.py::no_state_to_copy", "or to a consumer group: --target consumer-group:NAME")
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


def _shaped(scene: Scene, text: str | bytes, part: str = "") -> list[str]:
    return [f"{scene.write('offsets', text)}{part}"]


@walk("plugins/positions/engine/reading.py::read_positions", "Save it as UTF-8")
def file_of_damaged_gzip(scene: Scene) -> Steps:
    cut = gzip.compress(b"orders,0,1050\n")[:-4]
    (uri,) = _shaped(scene, cut, "#positions")
    return Steps(lambda: read_checkpoint(uri) and None, lambda: scene.write("offsets", "orders,0,1050\n"))


@walk("plugins/positions/engine/reading.py::_shape", "or none to have it recognised")
def shape_that_is_misspelled(scene: Scene) -> Steps:
    given = _shaped(scene, '{"orders":{"0":1050}}', "#positions:offset-json")
    return Steps(
        lambda: read_checkpoint(given[-1]) and None,
        lambda: given.append(f"{scene.folder / 'offsets'}#offsets-json"),
    )


@walk("plugins/positions/engine/reading.py::_shape", "Name the one that it is")
def two_shapes_that_fit(scene: Scene) -> Steps:
    given = _shaped(scene, '{"orders":{"0":1050}}')
    return Steps(lambda: read_checkpoint(given[-1]) and None, lambda: given.append(f"{given[-1]}#offsets-json"))


@walk("plugins/positions/engine/reading.py::_shape", "Write the positions in one of the shapes")
def file_of_no_shape(scene: Scene) -> Steps:
    (uri,) = _shaped(scene, "orders at 1050", "#positions")
    return Steps(lambda: read_checkpoint(uri) and None, lambda: scene.write("offsets", "orders,0:1050"))


@walk("plugins/positions/target/spec.py::PositionsFileTarget.objections", "Write to a consumer group")
def positions_of_pinot_printed_back(scene: Scene) -> Steps:
    made = positions_compared(scene.folder, "pinot-segments")
    return Steps(lambda: drafted(made, PRINTED_BACK), lambda: None, lambda: drafted(made, ETL))


@walk("plugins/positions/target/writer.py::", "Write it locally")
def positions_file_in_a_store(scene: Scene) -> Steps:
    scene.write("offsets", "orders,0:1050")
    plan = replace(plan_of(str(scene.folder / "offsets")), targets=(PRINTED_BACK,))
    writer = WRITERS[PRINTED_BACK.kind]
    return Steps(write_plan(scene, writer, plan, output="s3://b/x/y"), lambda: None, write_plan(scene, writer, plan))


def _compare(scene: Scene, *arguments: str) -> OffsetwiseError | None:
    """Compare by the command line, and raise what it refuses."""
    ran = call("compare", "--migration", scene.folder / "m.yaml", *arguments, *SNAPSHOTS, "--json")
    if ran.code:
        error = ran.refused()
        raise OffsetwiseError(error["problem"], fix=error["fix"])
    return None


@walk("cli/compare.py::_require_one_way", "Give --positions FILE and no other job")
def positions_beside_a_group(scene: Scene) -> Steps:
    file = str(scene.write("offsets", "orders,0:1050"))
    scene.write("m.yaml", CLUSTERS)
    return Steps(
        lambda: _compare(scene, "--positions", file, "--group", "etl"),
        lambda: None,
        lambda: _compare(scene, "--positions", file),
    )


@walk("config/migration.py::Migration.with_positions", "Compare it by its name")
def positions_that_the_migration_names(scene: Scene) -> Steps:
    file = str(scene.write("offsets", "orders,0:1050"))
    scene.write("m.yaml", f"{CLUSTERS}positions: [{{name: {file}, file: {file}}}]\n")
    return Steps(
        lambda: _compare(scene, "--positions", file), lambda: None, lambda: _compare(scene, "--checkpoint", file)
    )
