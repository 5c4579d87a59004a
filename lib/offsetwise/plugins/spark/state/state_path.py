"""The paths for Spark's own state readers: spelled as Spark does, and within the same roots as every other path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from offsetwise.errors import OutsideRootsError, StorageError
from offsetwise.storage.folders import Tree, open_tree
from offsetwise.storage.location import locate_local

_SPARK_SCHEMES: Final = {"s3": "s3a"}
_UNCHANGED: Final = "/:@!$&'()*+,;=-._~"


def spark_path(uri: str, *, roots: Sequence[str] | None = None) -> str:
    """Return a checkpoint's folder as Spark's `state-metadata` and `statestore` sources take it.

    Spark opens the files itself, so links are checked first: their targets must be inside the roots.

    Raises:
        OutsideRootsError: The folder, or the target of a link in it, leaves the roots.
        StorageError: Spark would read another path than this one, or the folder cannot be listed.
    """
    tree = open_tree(uri, roots=roots)
    location = tree.location
    # Spark takes the text for a URI and escapes it once more: it would open a folder with another name.
    if _escaped(location.path):
        raise StorageError(
            f"{uri}: expected a path that Spark's state reader spells as it is, found one with spaces or special "
            "characters, for which it would look elsewhere. No state was read.",
            fix="Copy the checkpoint to a folder whose path has letters, digits, '-', '_' and '.' only.",
        )
    if location.scheme == "file":
        _refuse_links_out(tree)
        return f"file://{location.path}"
    scheme, _, rest = location.path.partition("://")
    return f"{_SPARK_SCHEMES.get(scheme, scheme)}://{rest}"


def _escaped(path: str) -> bool:
    return any(char.isascii() and quote(char, safe=_UNCHANGED) != char for char in path)


def _refuse_links_out(tree: Tree) -> None:
    if tree.roots is None:
        return
    for folder, folders, files in os.walk(tree.location.path):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if os.path.islink(path) and not any(locate_local(path).inside(root) for root in tree.roots):
                raise OutsideRootsError(
                    f"{tree.uri}: expected files inside the configured roots, found the link {name!r} that leads out "
                    "of them. No state was read.",
                    fix="Name the folder the link points to in checkpoint_roots, or replace the link by what it names.",
                )
