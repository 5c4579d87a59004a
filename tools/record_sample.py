"""Record the bundled sample migration anew from a lab: `make sample`.

Writes lib/offsetwise/sample: the job's real checkpoints, snapshots of both clusters, the comparisons with their
evidence, and every topic counted. Addresses and paths of the machine are replaced; nothing else is touched.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import yaml

from offsetwise import files, workflow
from offsetwise.config import Migration, load_migration
from offsetwise.lab import Lab
from offsetwise.lab.sample import make_sample
from offsetwise.model import Cluster, Comparison, Snapshot, Subject, SubjectKind
from offsetwise.plugins.flink.engine.details import FlinkDetails

SAMPLE = Path(__file__).parent.parent / "lib" / "offsetwise" / "sample"
ADDRESSES = {"source": "127.0.0.1:19092", "target": "127.0.0.1:29092"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".lab"), help="the lab's folder")
    directory: Path = parser.parse_args().dir
    if directory.exists():
        raise SystemExit(
            f"{directory}: expected no lab yet, found a folder: one that was used before gives another sample. "
            "Nothing was recorded.\n"
            f"→ offsetwise lab down --dir {directory}, remove it, and start again."
        )
    lab = Lab.up(directory)
    path = make_sample(lab, said=lambda step: print(step, file=sys.stderr))
    record(path, lab, SAMPLE)


def record(path: Path, lab: Lab, to: Path) -> None:
    """Record a migration of a lab: its comparisons, counts and snapshots, its checkpoints and its file.

    Args:
        path: The migration file, next to its folder `checkpoints`.
        lab: The lab that it names.
        to: The folder that is written anew.
    """
    migration = load_migration(path)
    compared = {checkpoint.name: _compared(migration, checkpoint.name) for checkpoint in migration.checkpoints}
    made = {
        f"comparison-{name}.json": files.dump(relative(comparison, lab.directory))
        for name, comparison in compared.items()
    }
    rows = [row for comparison in compared.values() for row in comparison.partitions]
    topics = {Cluster.OLD: {row.topic for row in rows}, Cluster.NEW: {row.new_topic for row in rows}}
    for topic in sorted(topics[Cluster.OLD]):
        made[f"reconciliation-{topic}.json"] = files.dump(workflow.reconcile(migration, topic))
    for side, names in topics.items():
        taken = workflow.snapshot(migration, side, topics=tuple(sorted(names)))
        made[f"{side}.json"] = files.dump(_without_heartbeats(taken))
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    shutil.copytree(path.parent / "checkpoints", to / "checkpoints")
    for name, text in made.items():
        (to / name).write_text(text, encoding="utf-8")
    (to / "migration.yaml").write_text(_without_ports(path), encoding="utf-8")


def _compared(migration: Migration, checkpoint: str) -> Comparison:
    subject = Subject(kind=SubjectKind.CHECKPOINT, name=checkpoint)
    return workflow.compare(migration, subject, progress=lambda *step: print(*step, file=sys.stderr))


def relative(comparison: Comparison, directory: Path) -> Comparison:
    """Return a comparison without the folder that it was recorded in."""
    checkpoint = comparison.checkpoint
    if checkpoint is None:
        return comparison
    details = checkpoint.details
    if isinstance(details, FlinkDetails):
        retained = tuple(replace(each, uri=_below(each.uri, directory)) for each in details.retained)
        details = replace(details, saved=replace(details.saved, retained=retained))
    return replace(comparison, checkpoint=replace(checkpoint, uri=_below(checkpoint.uri, directory), details=details))


def _below(uri: str, directory: Path) -> str:
    return str(Path(uri).relative_to(directory.resolve()))


def _without_heartbeats(taken: Snapshot) -> Snapshot:
    """Leave out the syncs of the mirror's own heartbeats: thousands, and no job reads that topic."""
    syncs = tuple((topic, tuple(s for s in found if s.topic != "heartbeats")) for topic, found in taken.mirror.syncs)
    return replace(taken, mirror=replace(taken.mirror, syncs=syncs))


def _without_ports(path: Path) -> str:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for side, address in ADDRESSES.items():
        content[side]["properties"]["bootstrap.servers"] = address
    return yaml.safe_dump(content, sort_keys=False)


if __name__ == "__main__":
    main()
