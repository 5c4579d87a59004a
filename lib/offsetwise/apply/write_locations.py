"""Where may be written: only inside the configured roots, never into the source nor around it."""

from __future__ import annotations

from collections.abc import Sequence

from offsetwise.errors import OutputError, OutsideRootsError
from offsetwise.storage.location import WRITING, Location, locate


def place_to_write(
    uri: str | None, roots: Sequence[str], *, apart_from: str | None = None, itself: bool = False
) -> Location:
    """Return the location of a place that may be written.

    Args:
        uri: The place as a person gave it; links in it are resolved.
        roots: The write roots of the migration.
        apart_from: A checkpoint that must be neither inside the place nor around it.
        itself: What is there is edited, so it may be a write root itself.

    Raises:
        OutsideRootsError: It leaves the roots, or is spelled in a way that could.
        OutputError: None was given, or it and the source are not apart.
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
    """Return the path of a local place that may be written.

    Args:
        uri: The place as a person gave it.
        roots: The write roots of the migration.
        what: What is written there, for the message.
        fix: What to do where the place is on another file system.

    Raises:
        OutsideRootsError: It leaves the roots, or is spelled in a way that could.
        OutputError: None was given, or it is not local.
    """
    location = place_to_write(uri, roots)
    if location.scheme != "file":
        raise OutputError(
            f"{uri}: expected a local {what}, found one on {location.scheme}. Nothing was written.",
            fix=fix,
        )
    return location.path


def _allowed(location: Location, root: Location, *, within: bool) -> bool:
    # What is made is made under another name beside it first, so a root itself has no room for that.
    return location.inside(root) and (not within or len(location.parts) > len(root.parts))
