"""Check the names of the clusters that jobs write to, in a migration file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from offsetwise.errors import ConfigError

OF_THE_MIGRATION: Final = ("old", "new")
"""The names of a migration's two clusters in `checkpoints[].job.sink_cluster` and `new_sink_cluster`."""


def check_names(
    sinks: Sequence[str], *, clusters: Sequence[str], requested: Mapping[tuple[str, str], str | None]
) -> None:
    """Raise unless every name means one cluster.

    Args:
        sinks: The names of clusters in `sinks`.
        clusters: The names of the old and the new cluster.
        requested: By checkpoint and key, a cluster that its sink writes to; None if it is not stated.

    Raises:
        ConfigError: A name that means two clusters, or none.
    """
    twice = [name for name, count in Counter(sinks).items() if count > 1]
    if twice:
        raise ConfigError(
            f"sinks: expected a name of its own for each cluster, found {min(twice)!r} twice, "
            "so a checkpoint could mean either.",
            fix="Rename one of them.",
        )
    reserved = [name for name in sinks if name in (*OF_THE_MIGRATION, *clusters)]
    if reserved:
        raise ConfigError(
            f"sinks: expected a name that neither cluster of the migration has, found {min(reserved)!r}, "
            "so a checkpoint could mean either.",
            fix="Rename it; or, where the sink writes to the old or the new cluster, leave it out and state "
            "`sink_cluster: old` or `new`.",
        )
    known = (*OF_THE_MIGRATION, *sinks)
    for (checkpoint, key), name in requested.items():
        if name is not None and name not in known:
            raise ConfigError(
                f"checkpoints: expected a cluster as {key} of {checkpoint!r}, found {name!r}; the file has: "
                f"{', '.join(known)}. Its transactions could not be asked about.",
                fix="Use one of these names, or add the cluster under `sinks` with name and properties.",
            )
