from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from offsetwise import files
from offsetwise.errors import FileError
from offsetwise.model import Cluster, Comparison, Snapshot
from offsetwise.transactions.snapshot import SinkSnapshot


def load_comparison(comparison: str | Path, old: str | Path, new: str | Path) -> Comparison:
    """Read a comparison's file and those of its two snapshots.

    Args:
        comparison: The file of the comparison.
        old: The snapshot of the old cluster.
        new: The snapshot of the new cluster.

    Raises:
        FileError: A file cannot be read, or has another kind.
    """
    snapshots = load_snapshots(old, new)
    compared: Comparison = read_file(Path(comparison), "comparison")
    return replace(compared, read_from=snapshots, from_files=True)


def load_snapshots(old: str | Path, new: str | Path) -> tuple[Snapshot, Snapshot]:
    """Read the snapshot files of the old and the new cluster.

    Raises:
        FileError: A file cannot be read, or holds the other cluster.
    """
    loaded = []
    for path, cluster in ((old, Cluster.OLD), (new, Cluster.NEW)):
        snapshot: Snapshot = read_file(Path(path), "snapshot")
        if snapshot.cluster is not cluster:
            raise FileError(
                f"{path}: expected a snapshot of the {cluster} cluster, found one of the {snapshot.cluster} cluster "
                f"({snapshot.name!r}). Nothing was compared.",
                fix="Give the old cluster's snapshot first, the new one's second.",
            )
        loaded.append(snapshot)
    return loaded[0], loaded[1]


def load_sink_snapshot(path: str | Path) -> SinkSnapshot:
    """Read the snapshot file of a sink's cluster.

    Raises:
        FileError: It cannot be read, or has another kind.
    """
    snapshot: SinkSnapshot = read_file(Path(path), "sink-snapshot")
    return snapshot


def read_file(path: Path, kind: str) -> Any:
    """Read a stored file of a kind.

    Raises:
        FileError: It cannot be read, or has another kind.
    """
    text = files.read_bytes(path, f"an offsetwise/{kind} file", effect="Nothing was used.", fix="Check the path.")
    return files.load(text, kind, subject=str(path))
