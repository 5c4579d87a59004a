"""A cluster whose data was copied from the old one: it has the topics' ids and offsets, as a link that keeps both."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import offsetwise as ow
from offsetwise.lab import Lab
from offsetwise.model import CutoverState, Link, Outcome, Plan
from offsetwise.plan.gate import KEPT
from tests.integration.groups import Job, commit
from tests.integration.test_init_live import linked_by
from tests.integration.topics import copies, create, produce

TOPIC = "copied"
STILL = ("--require", "frozen,copied", "--still-for", "2s")


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two clusters, of which the new one began with the data of the old one."""
    folder = tmp_path_factory.mktemp("copied")
    lab = Lab.up(folder)
    try:
        create(lab.old_bootstrap, TOPIC)
        produce(lab.old_bootstrap, {TOPIC: copies(0, 60)})
        commit(lab.old_bootstrap, "etl", {TOPIC: 40})
        lab.down()
        _copy(folder / "old" / "data", folder / "new" / "data")
        with Lab.up(folder).no_longer_than_this_process() as copied:
            yield copied
    finally:
        lab.down()


def _copy(old: Path, new: Path) -> None:
    """Put the old cluster's data into the new one's folder, and keep the id of the new cluster."""
    name = re.compile(r"^cluster\.id=.*$", re.MULTILINE)
    kept = name.search((new / "meta.properties").read_text(encoding="utf-8"))
    assert kept is not None
    shutil.rmtree(new)
    shutil.copytree(old, new)
    text = (new / "meta.properties").read_text(encoding="utf-8")
    (new / "meta.properties").write_text(name.sub(kept[0], text), encoding="utf-8")


@pytest.mark.gates
def test_a_link_that_keeps_ids_and_offsets_is_held_to_the_end_of_the_logs(own_lab: Lab, tmp_path: Path) -> None:
    job = Job(own_lab, "etl", tmp_path)
    job.write_migration(link="preserving")
    migration = ow.Migration.load(tmp_path / "m.yaml")
    snapshots, told = linked_by(own_lab)(TOPIC)

    compared = migration.group("etl").compare()
    (check,) = (each for each in _drafted(job, tmp_path / "probed").gate if each.name == KEPT)
    produce(own_lab.old_bootstrap, {TOPIC: copies(60, 70)})
    produce(own_lab.new_bootstrap, {TOPIC: copies(60, 70)})
    alike = migration.cutover(topics=[TOPIC], still_for_s=2, every_s=0.5)
    (required,) = (each for each in _drafted(job, tmp_path, *STILL).gate if each.name == KEPT)
    produce(own_lab.new_bootstrap, {TOPIC: copies(500, 503)})
    longer = migration.cutover(topics=[TOPIC], still_for_s=2, every_s=0.5)
    refused = job.apply("--execute")

    ids = {topic.id for snapshot in snapshots.values() if snapshot is not None for topic in snapshot.topics}
    assert (len(snapshots), len(ids)) == (2, 1)
    assert None not in ids
    assert (told.link, "1 partition of a topic with one id on both clusters" in told.evidence) == (
        Link.PRESERVING,
        True,
    )
    (row,) = compared.partitions
    assert (row.new_offset, str(row.exactness)) == (40, "PRESERVED")
    assert row.evidence.statements[0].startswith("The topic has the same id on both clusters")
    assert "at epoch" in row.evidence.statements[0]
    assert (check.outcome, required.outcome) == (Outcome.UNKNOWN, Outcome.PASSED)
    assert alike.state is CutoverState.COPIED
    assert longer.state is CutoverState.FROZEN
    assert "copied-0 ends at 73, though the link is stated to keep offsets" in longer.partitions[0].told
    assert refused.code == 3, refused.err
    assert "something else has written to the new topic" in json.loads(refused.out)["problem"]


def _drafted(job: Job, folder: Path, *flags: str) -> Plan:
    """Draft and sign a plan of the job in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "m.yaml").write_bytes((job.folder / "m.yaml").read_bytes())
    Job(job.lab, job.group, folder).drafted(*flags)
    return ow.Plan.load(folder / "plan.json").document
