from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offsetwise.errors import NotACheckpointError, NotAFolderError, StorageError
from offsetwise.plugins.spark.engine.releases.flows import instead_of_flow
from offsetwise.storage.folders import Entry, FolderReader

LOOKED_INTO: Final = 20
"""How many sub-folders are searched for a checkpoint, to recognise a parent folder."""
SHOWN: Final = 5
GIVE: Final = "Give the folder that holds offsets/, commits/ and metadata."
LOGS: Final = frozenset({"commits", "offsets"})


def require_checkpoint(folder: FolderReader, entries: tuple[Entry, ...] | None = None) -> tuple[Entry, ...]:
    """Return the entries of the folder, if it is a Spark checkpoint.

    Args:
        folder: The folder.
        entries: Its entries, with details, if they are known already.

    Raises:
        NotACheckpointError: It is something else; the message says what.
        StorageError: It is missing or cannot be listed.
    """
    try:
        entries = folder.entries(details=True) if entries is None else entries
    except NotAFolderError as error:
        raise _not(folder, "a file", fix=GIVE) from error
    if is_checkpoint(entries):
        return entries
    names = {entry.name for entry in entries}
    if not names:
        raise _not(folder, "an empty folder", fix="Check the path: a query writes its checkpoint when it first starts.")
    shown = sorted(name for name in names if not name.startswith("."))
    other = ", ".join(map(repr, shown[:SHOWN])) + (", …" if len(shown) > SHOWN else "")
    result, fix = instead(folder, entries) or (f"another folder ({other})", GIVE)
    raise _not(folder, result, fix=fix)


def is_checkpoint(entries: Sequence[Entry]) -> bool:
    """Return whether the entries are those of a Spark query's checkpoint, or of one that has only just begun."""
    names = {entry.name for entry in entries}
    folders = {entry.name for entry in entries if entry.is_dir is not False}
    files = {entry.name for entry in entries if entry.is_dir is not True}
    # With files of Flink next to its logs it is still one: a caller that asks every engine has to see that both match.
    if _foreign(names - {"_metadata"}) is not None:
        return False
    return bool(folders & LOGS) or ("metadata" in files and names <= {"metadata", ".metadata.crc", "sources"})


def _foreign(names: set[str]) -> tuple[str, str] | None:
    if "_metadata" in names:
        return "a Flink savepoint or checkpoint (_metadata)", "Give the checkpoint folder of a Spark query."
    if "_delta_log" in names:
        return (
            "a Delta table (_delta_log)",
            "Give the query's checkpointLocation; beside a table it is often called _checkpoints.",
        )
    if "_spark_metadata" in names:
        return (
            "the output of Spark's file sink (_spark_metadata)",
            "Give the query's checkpointLocation, not its output folder.",
        )
    return None


def instead(folder: FolderReader, entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Describe a folder that is not a Spark checkpoint, and which folder to use; None if its names do not tell."""
    foreign = _foreign({entry.name for entry in entries})
    if foreign is not None:
        return foreign
    shown_entries = [entry for entry in entries if not entry.name.startswith(".")]
    names = [entry.name for entry in shown_entries]
    if names and all(entry.name.isdigit() and not entry.is_dir for entry in shown_entries):
        return (
            f"files named by batch ({', '.join(names[:3])}), as inside offsets/ or commits/",
            "Give the folder above it.",
        )
    flow = instead_of_flow(folder.uri, entries)
    if flow is not None:
        return flow
    inside = [entry.name for entry in entries if entry.is_dir is not False][:LOOKED_INTO]
    checkpoints = [name for name in inside if _has_logs(folder, name)]
    if checkpoints:
        shown = ", ".join(checkpoints[:SHOWN]) + (", …" if len(checkpoints) > SHOWN else "")
        parent = folder.uri.rstrip("/")
        return f"a folder of checkpoints ({shown})", f"Give one of them, such as {parent}/{checkpoints[0]}."
    return None


def _has_logs(folder: FolderReader, name: str) -> bool:
    try:
        return any(entry.name == "offsets" for entry in folder.entries(name))
    except StorageError:
        return False


def _not(folder: FolderReader, actual: str, *, fix: str) -> NotACheckpointError:
    return NotACheckpointError(
        f"{folder.uri}: expected the checkpoint folder of a Spark query, found {actual}. No position was read.", fix=fix
    )
