"""Record the bundled sample migration anew from a lab: `make sample`.

Writes lib/offsetwise/sample: the job's real checkpoints, snapshots of both clusters, and the comparisons with their
evidence. Addresses and paths of the machine are replaced; nothing else is touched.
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
from offsetwise.model import Cluster, Comparison

SAMPLE = Path(__file__).parent.parent / "lib" / "offsetwise" / "sample"
ADDRESSES = {"source": "127.0.0.1:19092", "target": "127.0.0.1:29092"}


def main() -> None:
    """Make the reference migration in a lab and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".lab"), help="the lab's folder")
    lab = Lab.up(parser.parse_args().dir)
    path = make_sample(lab, said=lambda step: print(step, file=sys.stderr))
    migration = load_migration(path)
    made = {
        f"comparison-{checkpoint.name}.json": files.dump(_relative(_compared(migration, checkpoint.name), lab.directory))
        for checkpoint in migration.checkpoints
    }
    for side in Cluster:
        made[f"{side}.json"] = files.dump(workflow.snapshot(migration, side))
    shutil.rmtree(SAMPLE, ignore_errors=True)
    SAMPLE.mkdir(parents=True)
    shutil.copytree(lab.directory / "checkpoints", SAMPLE / "checkpoints")
    for name, text in made.items():
        (SAMPLE / name).write_text(text, encoding="utf-8")
    (SAMPLE / "migration.yaml").write_text(_without_ports(path), encoding="utf-8")


def _compared(migration: Migration, checkpoint: str) -> Comparison:
    return workflow.compare(migration, checkpoint=checkpoint, progress=lambda *step: print(*step, file=sys.stderr))


def _relative(comparison: Comparison, directory: Path) -> Comparison:
    assert comparison.checkpoint is not None
    uri = str(Path(comparison.checkpoint.uri).relative_to(directory.resolve()))
    return replace(comparison, checkpoint=replace(comparison.checkpoint, uri=uri))


def _without_ports(path: Path) -> str:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for side, address in ADDRESSES.items():
        content[side]["properties"]["bootstrap.servers"] = address
    return yaml.safe_dump(content, sort_keys=False)


if __name__ == "__main__":
    main()
