"""Remedies of a Spark checkpoint and of its repair: the folder restored, another repair, or a new checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings.reading import blocking_problems
from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.repairs import kinds
from offsetwise.storage.folders import open_tree
from tests.plan.scene import SEEDED, comparison, drafted
from tests.plan.scene import checkpoint as positions
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.plugins.spark.repair.flow import aged, repaired
from tests.plugins.spark.repair.test_repairs import DAMAGED, ID, LEGACY, TWO_LEFT
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import run

Files = Mapping[str, bytes]
Call = Callable[[], object]
WHOLE = checkpoint({3: orders(100), 4: orders(150)}, (3, 4))
PENDING = DAMAGED["drop-pending-batch"]
STATE = {f"state/0/0/{version}.delta": b"x" for version in (1, 2, 3, 4, 5, 6)}
GAP = DAMAGED["drop-batch-after-gap"]
CASE = SAMPLES.parent / "cases" / "spark-38033-gap"
REPORTED = {str(path.relative_to(CASE)): path.read_bytes() for path in sorted(CASE.rglob("*")) if path.is_file()}


def without(files: Files, *paths: str) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path not in paths}


def folder_of(scene: Scene, files: Files) -> Path:
    return aged(write(files, scene.folder / "source"))


def restored(folder: Path, files: Files) -> Call:
    def follow() -> None:
        shutil.rmtree(folder)
        write(files, folder)

    return follow


def repair(scene: Scene, kind: str, folder: Path, *settings: str) -> Call:
    given = [text for setting in settings for text in ("--set", setting)]
    out = scene.folder / f"{kind}.json"
    return run("draft", "--repair", kind, "--checkpoint", folder, "--author", "ada", "--out", out, *given)


@walk("plugins/spark/engine/repairs/kinds.py::repair", "Name one that it has")
def repair_of_another_engine(scene: Scene) -> Steps:
    folder = open_tree(str(folder_of(scene, PENDING)))
    return Steps(
        lambda: kinds.repair(folder, "theirs", {}), lambda: None, lambda: kinds.repair(folder, "drop-pending-batch", {})
    )


def inspected(folder: Path) -> Call:
    """Return what `inspect` states that blocks, as a refusal."""
    return lambda: tuple(
        Problem(code="printed", message=problem.message, fix=problem.fix)
        for problem in blocking_problems(read_checkpoint(str(folder)).problems)
    )


def kind(scope: str, words: str, name: str, of: str, files: Files, then: Callable[[Scene, Path], Steps]) -> None:
    """Add a walk that begins with a repair that is refused."""

    @walk(f"plugins/spark/engine/repairs/{scope}", words, name=name)
    def _(scene: Scene) -> Steps:
        folder = folder_of(scene, files)
        steps = then(scene, folder)
        settings = {"restore-topic": ("topic=legacy",), "restore-metadata": (f"query_id={ID}",)}.get(of, ())
        return steps._replace(command=repair(scene, of, folder, *settings))


def from_backup(files: Files) -> Callable[[Scene, Path], Steps]:
    return lambda _, folder: Steps(lambda: None, restored(folder, files), inspected(folder))


def by_inspect(scene: Scene, folder: Path) -> Steps:
    del scene
    return Steps(lambda: None, lambda: None, inspected(folder))


def seeded(scene: Scene, folder: Path) -> Steps:
    """Draft a new checkpoint from one with the problems of the damaged one."""
    del scene
    found = read_checkpoint(str(folder)).problems
    return Steps(lambda: None, lambda: None, lambda: drafted(comparison(checkpoint=positions(problems=found)), SEEDED))


def anew(batch: int) -> Callable[[Scene, Path], Steps]:
    """Begin with an empty checkpoint and the ends of a batch as startingOffsets, as Spark writes them down."""

    def then(scene: Scene, folder: Path) -> Steps:
        fresh = scene.folder / "fresh"

        def follow() -> None:
            line = (folder / "offsets" / str(batch)).read_bytes().splitlines()[2]
            write({"metadata": b'{"id":"fresh"}', "sources/0/0": b"\0v1\n" + line}, fresh)

        return Steps(lambda: None, follow, inspected(fresh))

    return then


def another(of: str, *settings: str) -> Callable[[Scene, Path], Steps]:
    return lambda scene, folder: Steps(lambda: None, lambda: None, repair(scene, of, folder, *settings))


BATCHES = "batches.py::"
BACKUP = "Restore the folder from a backup."
kind(
    BATCHES + "drop_pending_batch",
    "Use --set repair=drop-batch-after-gap",
    "pending_after_a_gap",
    "drop-pending-batch",
    GAP,
    another("drop-batch-after-gap"),
)
kind(
    BATCHES + "drop_pending_batch", "Nothing is to be dropped", "none_pending", "drop-pending-batch", WHOLE, by_inspect
)
kind(
    BATCHES + "drop_pending_batch",
    BACKUP,
    "start_of_the_pending_batch_lost",
    "drop-pending-batch",
    checkpoint({5: orders(180)}),
    from_backup(PENDING),
)
kind(
    BATCHES + "_damaged_commits",
    "Nothing is to be removed",
    "no_commit",
    "remove-damaged-commit",
    checkpoint({0: orders(10)}),
    by_inspect,
)
kind(
    BATCHES + "remove_damaged_commit",
    BACKUP,
    "batch_of_the_commit_lost",
    "remove-damaged-commit",
    without(DAMAGED["remove-damaged-commit"], "offsets/5"),
    from_backup(WHOLE),
)
kind(
    BATCHES + "drop_batch_after_gap",
    "Nothing is to be dropped",
    "no_gap",
    "drop-batch-after-gap",
    WHOLE,
    by_inspect,
)
kind(
    "damaged.py::Damaged.offsets",
    BACKUP,
    "offsets_garbled",
    "drop-pending-batch",
    PENDING | {"offsets/4": b"v"},
    from_backup(PENDING),
)
kind(
    "damaged.py::Damaged.require_start_after",
    "Begin a new checkpoint",
    "batch_before_lost",
    "drop-batch-after-gap",
    REPORTED,
    seeded,
)
kind(
    "damaged.py::Damaged.require_state",
    "Restore the folder from a backup that has it",
    "state_lost",
    "drop-pending-batch",
    without(PENDING | STATE, "state/0/0/5.delta"),
    lambda _, folder: Steps(lambda: None, restored(folder, PENDING | STATE)),
)
kind(
    "damaged.py::Damaged.require_start_after",
    "or begin with an empty checkpoint",
    "batch_before_lost_and_pending_damaged",
    "drop-pending-batch",
    without(PENDING, "offsets/3") | {"offsets/5": b""},
    anew(4),
)
kind(
    "damaged.py::Damaged.require_state",
    "or give the state up: begin with an empty",
    "state_lost_and_commit_damaged",
    "remove-damaged-commit",
    without(DAMAGED["remove-damaged-commit"] | STATE, "state/0/0/5.delta"),
    anew(4),
)
kind(
    "kinds.py::restore_metadata",
    "Nothing is to be written",
    "metadata_whole",
    "restore-metadata",
    WHOLE,
    by_inspect,
)
kind(
    "shard_commit.py::rebuild_shard_commit",
    BACKUP,
    "nothing_committed",
    "rebuild-shard-commit",
    checkpoint({0: orders(10)}),
    from_backup(WHOLE),
)
kind(
    "shard_commit.py::rebuild_shard_commit",
    "Nothing is to be rebuilt",
    "no_source_of_qubole",
    "rebuild-shard-commit",
    WHOLE,
    by_inspect,
)
QUBOLE = DAMAGED["rebuild-shard-commit"]
kind(
    "shard_commit.py::_starts",
    BACKUP,
    "line_garbled",
    "rebuild-shard-commit",
    QUBOLE | {"offsets/22": QUBOLE["offsets/22"].replace(b'"AFTER_SEQUENCE_NUMBER"', b"7")},
    from_backup(
        QUBOLE
        | {"sources/0/shard-commit/22/shardId-000000000000": QUBOLE["sources/0/shard-commit/21/shardId-000000000000"]}
    ),
)
TOPIC = DAMAGED["restore-topic"]
kind(
    "topic.py::restore_topic",
    "Repair what `offsetwise inspect` names first",
    "topic_and_a_gap",
    "restore-topic",
    GAP,
    another("drop-batch-after-gap"),
)
kind(
    "topic.py::_newest_with",
    "Name a topic that an earlier batch has",
    "unknown_topic",
    "restore-topic",
    checkpoint({2: '{"orders":{"0":150},"other":{"0":155}}', 3: orders(200)}, (2,)),
    another("restore-topic", "topic=other"),
)


kind(
    "topic.py::_require_all",
    "Subscribe to all of them again",
    "one_of_two_topics",
    "restore-topic",
    checkpoint({3: TWO_LEFT, 4: '{"orders":{"0":200}}'}, (3,)),
    another("restore-topic", "topic=legacy,clicks"),
)


# What `inspect` says of a checkpoint, and the repair that it names.
def mended(function: str, words: str, of: str, *settings: str) -> None:
    @walk(f"plugins/spark/engine/findings.py::{function}", words, name=function)
    def _(scene: Scene) -> Steps:
        folder = folder_of(scene, DAMAGED[of])
        work = scene.folder / "work"
        given = [text for setting in settings for text in ("--set", setting)]

        def follow() -> None:
            repaired(folder, of, work, *given)

        return Steps(
            lambda: read_checkpoint(str(folder)).problems,
            follow,
            lambda: tuple(problem for problem in read_checkpoint(str(work / "copy")).problems),
        )


mended("batch_missing", "Draft a repaired copy that leaves", "drop-batch-after-gap")
mended("batch_missing", "Draft a repaired copy without the last batch", "drop-batch-after-gap")
mended("topic_dropped", "(--set repair=restore-topic)", "restore-topic", "topic=legacy")


@walk("plugins/spark/engine/findings.py::topic_left", "Else draft a repaired copy")
def topic_left(scene: Scene) -> Steps:
    lines = {2: LEGACY, 3: '{"orders":{"0":160}}', 4: '{"orders":{"0":200}}'}
    folder = folder_of(scene, checkpoint(lines, (2, 3, 4)))
    work = scene.folder / "work"
    return Steps(
        lambda: read_checkpoint(str(folder)).problems,
        lambda: repaired(folder, "restore-topic", work, "--set", "topic=legacy"),
        lambda: read_checkpoint(str(work / "copy")).problems,
    )


@walk("findings/reading.py::checkpoint_damaged", "Restore the folder from a backup")
def damaged(scene: Scene) -> Steps:
    folder = folder_of(scene, WHOLE | {"offsets/4": b"v"})
    return Steps(lambda: read_checkpoint(str(folder)).problems, restored(folder, WHOLE))


@walk("findings/reading.py::gap", "if the job uses asynchronous progress tracking")
def gap(scene: Scene) -> Steps:
    del scene
    read = read_checkpoint(str(SAMPLES / "spark-4.2.0-async"))
    return Steps(
        lambda: read.problems,
        lambda: None,
        lambda: None if drafted(comparison(checkpoint=positions(problems=read.problems))) else (),
    )
