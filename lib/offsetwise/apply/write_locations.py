"""Where writing is allowed: only inside the configured roots, never in the source nor around it."""

from __future__ import annotations

from collections.abc import Sequence

from offsetwise.errors import OutputError, OutsideRootsError
from offsetwise.storage.location import WRITING, Location, locate


def place_to_write(
    uri: str | None, roots: Sequence[str], *, apart_from: str | None = None, itself: bool = False
) -> Location:
    """Return the location to write to.

    Args:
        uri: As a person entered it; links in it are resolved.
        roots: The write roots of the migration.
        apart_from: A checkpoint that must be neither inside the location nor around it.
        itself: Whether existing content is edited, so that the location may be a write root itself.

    Raises:
        OutsideRootsError: It leaves the roots, or its spelling could.
        OutputError: `uri` is None, or it and `apart_from` overlap.
    """
    if uri is None:
        raise OutputError(
            "The output: expected a folder or file to write to, found none. Nothing was written.",
            fix="Give it with --output.",
        )
    location = locate(uri, bound=WRITING)
    if not any(_allowed(location, locate(root), within=not itself) for root in roots):
        shown = ", ".join(roots) or "none configured"
        raise OutsideRootsError(
            f"{uri[:300]!r}: expected a location inside the write roots ({shown}), found one outside of them. "
            "Nothing was written.",
            fix="Choose a location inside them, or add its folder to write_roots in the migration file.",
        )
    if apart_from is not None:
        source = locate(apart_from)
        if location.inside(source) or source.inside(location):
            raise OutputError(
                f"{uri}: expected a location apart from the checkpoint {apart_from}, found one inside or around it. "
                "Nothing was written.",
                fix="Choose a folder beside it.",
            )
    return location


def local_place(uri: str | None, roots: Sequence[str], *, what: str, fix: str) -> str:
    """Return the path of a local file or folder to write to.

    Args:
        uri: As a person entered it.
        roots: The write roots of the migration.
        what: What is written there, for the message.
        fix: The remedy if it is on another file system.

    Raises:
        OutsideRootsError: It leaves the roots, or its spelling could.
        OutputError: `uri` is None, or it is not local.
    """
    location = place_to_write(uri, roots)
    if location.scheme != "file":
        raise OutputError(
            f"{uri}: expected a local {what}, found one on {location.scheme}. Nothing was written.",
            fix=fix,
        )
    return location.path


def _allowed(location: Location, root: Location, *, within: bool) -> bool:
    # Output is first written under a temporary name next to it, for which a root itself has no room.
    return location.inside(root) and (not within or len(location.parts) > len(root.parts))
