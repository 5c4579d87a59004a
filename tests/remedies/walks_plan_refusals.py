"""Remedies of plans that are refused for what positions, proofs, shards and transactions lack."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import offsetwise as ow
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.plan import options
from offsetwise.plan.refusals import require_proofs
from offsetwise.plugins.spark.targets.rewind import rewound
from offsetwise.transactions.decisions import Decision
from tests.findings.cases import ROW
from tests.plan.scene import comparison, drafted
from tests.plugins.kinesis.streams import lease
from tests.plugins.kinesis.test_aggregates import at, fill, packed
from tests.plugins.kinesis.test_another_stream import NEW, Copy, read_first
from tests.plugins.kinesis.test_another_stream import TRAITS as OF_COPY
from tests.plugins.kinesis.test_same_stream import DATA
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_engines import query_behind_a_split
from tests.remedies.walks_repairs import GAP, folder_of, repair
from tests.remedies.walks_streams import TRAITS, compared, draft, made, number
from tests.transactions.settling import row, settled

REFUSALS = "plan/refusals.py::"


@walk("plan/predict.py::other_stream_unedited", "Write the positions that were found on the new stream")
def other_stream_unedited(scene: Scene) -> Steps:
    stream = made(scene)
    with suppress(stream.client.exceptions.ResourceNotFoundException):
        stream.client.delete_stream(StreamName=NEW)
    copy = Copy(stream, scene.folder)
    copy.make(3, read_first(copy.records))
    scene.request.addfinalizer(lambda: stream.client.delete_stream(StreamName=NEW))
    path = copy.migration(job=OF_COPY)
    return Steps(lambda: compared(path), lambda: None, lambda: draft(path, "starting-position"))


PROVEN = comparison()
WITHOUT = replace(PROVEN, partitions=(ROW,))
corrected(
    REFUSALS + "proof_not_repeated",
    "Compare again with the clusters as they are",
    "plan_without_proofs",
    lambda: drafted(WITHOUT) and None,
    lambda: drafted(PROVEN) and None,
)


@walk(REFUSALS + "require_proofs", "draft a new plan, and have that signed")
def signature_without_proofs(_: Scene) -> Steps:
    plan = drafted(PROVEN)
    forged = replace(plan, positions=tuple(replace(each, proof=None) for each in plan.positions))
    return Steps(lambda: require_proofs(forged, "ab" * 32), lambda: None, lambda: require_proofs(plan, "ab" * 32))


@walk(REFUSALS + "place_not_held", "--override topic:partition=POSITION")
def place_not_held(scene: Scene) -> Steps:
    stream = made(scene)
    fill(stream, packed(3), b"more")
    path = stream.migration(scene.folder, at(1, 0), job=TRAITS)

    def undecided() -> None:
        ow.Migration.load(path).checkpoint("app").draft(options.target("starting-position"), author="ada")

    def decided_or_elsewhere() -> None:
        draft(path, "starting-position", "chain:0=at:1")
        draft(path, "kcl-leases:app")

    return Steps(undecided, lambda: None, decided_or_elsewhere)


@walk(REFUSALS + "shards_unknown", "Draft it where the stream can be asked")
def shards_unknown(scene: Scene) -> Steps:
    stream = made(scene)
    path = stream.migration(scene.folder, lease(0, number(0)), lease(1, number(1)), job=TRAITS)
    asked = path.read_text()
    path.write_text(asked.replace(stream.address, "http://127.0.0.1:9"))
    arn = "arn:aws:kinesis:us-east-1:123456789012:stream/chain"
    savepoint = {"uid": "src", "stream_arn": arn, "parallelism": 1, "max_parallelism": 128}

    def convert() -> None:
        job = ow.Migration.load(path).checkpoint("app")
        job.draft(options.target("flink-savepoint-from-positions"), author="ada", settings=savepoint)

    return Steps(convert, lambda: path.write_text(asked))


@walk("plugins/spark/targets/rewind.py::_source", "give each shard its earlier position")
def shards_of_an_earlier_batch(scene: Scene) -> Steps:
    read = read_checkpoint(str(DATA / "spark" / "qubole-1.2.0-committed"))
    path = query_behind_a_split(scene)
    return Steps(
        lambda: rewound(read, 20) and None, lambda: None, lambda: draft(path, "starting-position", "chain:1=seq:3")
    )


corrected(
    "plan/sinks/ending.py::_against_planned",
    "Look at it: offsetwise transactions",
    "producer_that_nobody_knows",
    lambda: settled(row(0, Decision.ABORT, producer_id=None)) and None,
    lambda: settled(row(0, Decision.ABORT)) and None,
)


@walk(REFUSALS + "repair_refused", "Repair what `offsetwise inspect` names first")
def repair_before_another(scene: Scene) -> Steps:
    folder = folder_of(scene, GAP)
    return Steps(
        repair(scene, "restore-topic", folder, "topic=legacy"),
        lambda: None,
        repair(scene, "drop-batch-after-gap", folder),
    )
