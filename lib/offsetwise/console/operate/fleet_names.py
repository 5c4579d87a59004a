"""Display names of the checkpoints of a fleet: as in the migration file, else by their paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from offsetwise.console.widgets import escaping
from offsetwise.fleets import FleetRow


def labels_of(rows: Sequence[FleetRow], roots: Sequence[str]) -> dict[str, str]:
    """Return display names by URI: a checkpoint's only name in the migration, as on other pages, else its path.

    A name is not used if another checkpoint has the same name or path.
    """
    paths = named([row.uri for row in rows], roots)
    names = {row.uri: escaping.plain(row.names[0]) for row in rows if len(row.names) == 1}
    count, used = Counter(names.values()), set(paths.values())
    return paths | {
        uri: name for uri, name in names.items() if count[name] == 1 and (name not in used or paths[uri] == name)
    }


def named(uris: Sequence[str], roots: Sequence[str] = ()) -> dict[str, str]:
    """Return the display name of each URI: its escaped path below its root; the whole URI if that path is not unique.

    >>> named(["/data/ckpt/a/orders", "/data/ckpt/b", "/etc"], ["/data/ckpt"])
    {'/data/ckpt/a/orders': 'a/orders', '/data/ckpt/b': 'b', '/etc': '/etc'}
    """
    bases = {uri: _base(uri, roots) for uri in uris}
    several = len({base for base in bases.values() if base is not None}) > 1
    short = {uri: escaping.plain(_below(uri, base, several=several)) for uri, base in bases.items()}
    count = Counter(short.values())
    results: dict[str, str] = {}
    used: set[str] = set()
    for uri, name in short.items():
        label = name if count[name] == 1 else escaping.plain(uri)
        # Two names that differ in invisible characters only could still look the same.
        results[uri] = label if label not in used else f"{label} ({len(used)})"
        used.add(results[uri])
    return results


def _below(uri: str, base: str | None, *, several: bool) -> str:
    if base is None:
        return uri
    path, name = uri.rstrip("/")[len(base) + 1 :], base.rpartition("/")[2]
    return f"{name}/{path}" if path and several else path or name


def _base(uri: str, roots: Sequence[str]) -> str | None:
    bases = (root.rstrip("/") for root in roots)
    return max((base for base in bases if f"{uri.rstrip('/')}/".startswith(f"{base}/")), key=len, default=None)
