from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from offsetwise.errors import StorageError
from offsetwise.storage.folders import disk, open_tree
from offsetwise.storage.location import READING, is_live, refuse_spelling

_MAGIC: Final = re.compile(r"[*?\[]")


def expand(uris: Sequence[str], *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
    """Expand paths and globs to folders, each once, in the given order.

    Args:
        uris: Paths and URIs; `*`, `?` and `[…]` are matched, unless a file or folder has exactly this name.
        roots: The folders that may be read; None if a person named the paths.

    Raises:
        StorageError: A glob matches no folder, or its file system cannot be reached.
        OutsideRootsError: A glob begins outside the roots.
    """
    expanded: dict[str, None] = {}
    for uri in uris:
        if is_live(uri) or not _MAGIC.search(uri) or _exists(uri, roots=roots):
            expanded[uri] = None
            continue
        results = _glob_folders(uri, roots=roots)
        if not results:
            raise StorageError(
                f"{uri!r}: expected a pattern that matches folders, found none. Nothing was read.",
                fix="Check the pattern, and quote it so that the shell leaves it alone.",
            )
        expanded |= dict.fromkeys(results)
    return tuple(expanded)


def _exists(uri: str, *, roots: Sequence[str] | None = None) -> bool:
    """Return whether a file or folder has exactly this name, including special characters. False if unreachable."""
    try:
        tree = open_tree(uri, roots=roots)
        return os.path.exists(tree.base) if tree.fs is None else bool(tree.fs.exists(tree.base))
    except Exception:  # noqa: BLE001 - every file system's library has an error tree of its own
        return False


def _glob_folders(pattern: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the folders that a pattern matches, sorted. Hidden ones match only a pattern with their dot.

    Raises:
        OutsideRootsError: The part before the first glob character leaves the roots.
        StorageError: The file system cannot be reached.
    """
    plain = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    base, slash, _ = plain.rpartition("/")
    tree = open_tree(base + slash if slash else ".", roots=roots)
    rest = pattern[len(base) + len(slash) :]
    if roots is not None:
        refuse_spelling(re.sub(r"[*?\[\]]", "", rest) or "x", bound=READING)
    try:
        matches = (tree.fs or disk()).glob(f"{tree.base.rstrip('/')}/{rest}", detail=True)
    except Exception as error:
        raise StorageError(
            f"{pattern!r}: expected to match folders, found {type(error).__name__}: {str(error)[:200]}. "
            "Nothing was read.",
            fix="Check the pattern, the network and the credentials in the environment.",
        ) from error
    prefix = "" if tree.location.scheme == "file" else f"{tree.location.scheme}://"
    # ABFS addresses have an account after the container, which its library leaves out of names.
    container, at, account = tree.location.parts[0].partition("@")
    return tuple(
        sorted(
            prefix + (container + at + account + str(name).removeprefix(container) if at else str(name)).rstrip("/")
            for name, info in matches.items()
            if (info.get("type") == "directory" or info.get("islink"))
            and (not str(name).rstrip("/").rpartition("/")[2].startswith(".") or "/." in pattern)
        )
    )
