"""Read a single file of any supported file system; it may be a root itself.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

from collections.abc import Sequence

from offsetwise.storage.folders import open_tree


def without_part(uri: str) -> tuple[str, str]:
    """Split `FILE#PART` into the file and the named part of it, which is empty if there is none.

    >>> without_part("dump.json#orders-app")
    ('dump.json', 'orders-app')
    """
    file, _, part = uri.partition("#")
    return file, part


def roots_of_file(file: str, roots: Sequence[str] | None) -> Sequence[str] | None:
    """Return the roots for reading a file: its folder if the file itself is a root, or else the roots unchanged."""
    if roots is not None and file in {without_part(root)[0] for root in roots}:
        folder, slash, _ = file.rpartition("/")
        return (folder or slash or ".",)
    return roots


def read_file(file: str, *, roots: Sequence[str] | None = None) -> bytes:
    """Read one whole file.

    Args:
        file: A path, or a URI with one of `location.SCHEMES`.
        roots: The folders and files that may be read; None if a person named the path.

    Raises:
        OutsideRootsError: The file leaves the roots.
        StorageError: It is missing, cannot be read, or is larger than the limit.
    """
    folder, slash, name = file.rpartition("/")
    return open_tree(folder or slash or ".", roots=roots_of_file(file, roots)).read(name)
