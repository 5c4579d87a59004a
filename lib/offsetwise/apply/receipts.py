"""The receipt of an application: its allowed paths, how it is written, and how it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from offsetwise import files
from offsetwise.apply.disk import Disk, explaining_os_errors
from offsetwise.apply.fitting import requirement
from offsetwise.apply.journal import StepRecord
from offsetwise.apply.write_locations import place_to_write
from offsetwise.apply.writers import output_of
from offsetwise.config import Migration
from offsetwise.errors import OutputError
from offsetwise.model import Plan, Receipt
from offsetwise.plan.evidence import plan_of, require_agreeing, require_step
from offsetwise.plan.target import Where, target_type
from offsetwise.regular_files import named_place
from offsetwise.storage.location import is_live, locate

Places = Sequence[str | None]
"""The path or URI of each target of a plan, None if unknown; empty if all are unknown."""


def parse_receipt(path: str) -> Receipt:
    """Parse a receipt without comparing it with its plan.

    Raises:
        FileError: It cannot be read, or is another kind of file.
    """
    content = files.read_bytes(path, "a receipt", effect="Nothing was changed.", fix="Check the path.")
    receipt: Receipt = files.load(content, "receipt", subject=path)
    return receipt


def read_receipt(path: str, plan_bytes: bytes | None = None) -> Receipt:
    """Read a receipt and check that it agrees with its plan. Approvals are not checked.

    Args:
        path: The file. Anybody may own it.
        plan_bytes: The plan's file; needed if its bytes differ from the form that `files.dump` writes.

    Raises:
        FileError: It cannot be read, is another kind of file, or contradicts the plan that it names.
        PlanError: The plan contradicts itself.
    """
    return receipt_and_plan(path, plan_bytes)[0]


def receipt_and_plan(path: str, plan_bytes: bytes | None) -> tuple[Receipt, bytes]:
    receipt = parse_receipt(path)
    data, plan = plan_of(receipt, plan_bytes, subject=path)
    require_agreeing(path, plan, receipt.plan_digest, receipt.steps)
    return receipt, data


def require_agreeing_records(
    path: str, plan: Plan, digest: str, records: Mapping[int, StepRecord], *, paths: Places = ()
) -> None:
    """Raise if a journal disagrees with its plan.

    Args:
        path: The journal, for the message.
        plan: The plan.
        digest: The plan's digest, hex.
        records: The records of the journal.
        paths: The paths of the targets.

    Raises:
        FileError: It disagrees.
        OffsetwiseError: The plan could not have been written.
    """
    for number, record in sorted(records.items()):
        path_of_step = paths[number] if number < len(paths) else None
        for step in (record.intended, record.done, record.undone):
            if step is not None:
                require_step(
                    path,
                    plan,
                    digest,
                    number,
                    step,
                    location=path_of_step,
                    notes=record.notes,
                    begun=record.intended is not None,
                )


def places_of(plan: Plan, migration: Migration, output: str | None) -> Places:
    """Return the path or URI of each target, as far as it follows from the plan and the output.

    Raises:
        OutputError: A path must not be written to.
    """
    results: list[str | None] = []
    for number, target in enumerate(plan.targets):
        if target_type(target.kind).where is Where.CHECKPOINT:
            results.append(place_to_write(requirement(plan).uri, migration.write_roots, itself=True).path)
            continue
        given = output_of(plan.targets, number, output)
        results.append(None if given is None else place_to_write(given, migration.write_roots).path)
    return tuple(results)


def require_apart(receipt: str, plan: Plan, output: str | None) -> None:
    """Raise if a receipt is inside the checkpoint or the output: a copy holds only files of the engine.

    Raises:
        OutputError: It is inside, or its folder is missing.
    """
    checkpoint = plan.requirements.checkpoint
    read = None if checkpoint is None or is_live(checkpoint.uri) else checkpoint.uri  # a table is in no folder
    around: Sequence[str | None] = (read, output)
    location = locate(os.path.abspath(receipt))
    for uri in around:
        if uri is not None and location.inside(locate(uri)):
            raise OutputError(
                f"{receipt}: expected a receipt outside the checkpoint and the output, found it inside {uri}. "
                "Nothing was written.",
                fix="Give another --receipt.",
            )
    if not os.path.isdir(os.path.dirname(os.path.abspath(receipt))):
        raise OutputError(
            f"{receipt}: expected a receipt in a folder that exists, found none. Nothing was written.",
            fix="Make the folder, or give another --receipt.",
        )


def publish_receipt(path: str, receipt: Receipt, disk: Disk) -> None:
    """Write the receipt as a whole or not at all, and never over another file.

    Raises:
        OutputError: The name is taken, or the disk returns an error.
    """
    real_path = named_place(path)
    tmp = f"{real_path}.tmp"
    data = files.dump(receipt).encode()
    with explaining_os_errors("Every target is written as planned; only the receipt is missing."):
        disk.remove(tmp)  # of a run that ended here; the journal's lock keeps others out
        disk.write_new(tmp, data)
        try:
            if not disk.link(tmp, real_path):
                # Without hard links, checking before the rename is all that is possible; the lock excludes other runs
                # of ours.
                if os.path.lexists(path):
                    raise _exists_already(path)
                disk.rename(tmp, real_path)
        except FileExistsError as error:
            raise _exists_already(path) from error
        disk.sync(os.path.dirname(real_path))
        disk.remove(tmp)


def _exists_already(path: str) -> OutputError:
    return OutputError(
        f"{path}: expected to write a new receipt, found something there. Every target is written as planned; only the "
        "receipt is missing.",
        fix="Move away what is there, then run the same command again.",
    )
