"""Exports of a plan for applying it: single files, or one archive with plan, approvals and a README.

File names of an unapproved plan begin with DRAFT, and no tool accepts its content; those of an applied plan begin with
APPLIED.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from shlex import quote
from typing import Final

from offsetwise.approval.envelope import ApprovalFile, Statement, stated_in
from offsetwise.config import Migration
from offsetwise.errors import PlanError
from offsetwise.lookalikes import marked
from offsetwise.model import CutoverRequirement, Plan
from offsetwise.plan.exports import consumer_groups_csv, starting_form
from offsetwise.plan.target import Where, target_type
from offsetwise.review.sheet import SheetMark
from offsetwise.wording import many, moment, number, signed, verdicts
from offsetwise.wording.cutover import required

README: Final = "README.md"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the earliest that the format allows."""
_UNUSUAL: Final = re.compile(r"[^a-zA-Z0-9._-]+")
_CHECKPOINT: Final = "checkpoint "
_GROUP: Final = "group "
_TRANSACTIONS: Final = "transactions of "
_MOST: Final = 1_000
"""How many positions a README lists; the plan's file has all of them."""


class ExportKind(StrEnum):
    PLAN = "plan"
    """The plan's file, with exactly the bytes that were decided about."""
    APPROVAL = "approval"
    """One file for each approval, as `apply` takes it."""
    STARTING_OFFSETS = "starting-offsets"
    """The starting offsets of a job without positions of its own."""
    GROUPS_CSV = "groups-csv"
    """The file of `kafka-consumer-groups --from-file`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    name: str
    content: bytes
    mime: str
    digest: str
    """The plan's digest."""
    mark: SheetMark


def exported(
    kind: ExportKind,
    plan: Plan,
    content: bytes,
    *,
    digest: str,
    envelopes: tuple[bytes, ...],
    withdrawn: tuple[bytes, ...] = (),
    mark: SheetMark,
) -> tuple[Export, ...]:
    """Return the files of one kind.

    Args:
        kind: The kind of export.
        plan: The plan.
        content: Its file, every byte.
        digest: Its digest.
        envelopes: The valid approvals.
        withdrawn: Approvals of people who are no longer reviewers: only the file names can show that.
        mark: The mark in the file names.

    Raises:
        PlanError: The plan cannot be exported in that form.
        ApplyError: A target cannot hold one of its positions.
    """
    if kind is ExportKind.APPROVAL:
        return _approval_files(digest, dict.fromkeys(envelopes, mark) | dict.fromkeys(withdrawn, SheetMark.WITHDRAWN))
    begin = f"{_begin(mark)}plan-{digest[:8]}"
    nobody_may = mark is SheetMark.DRAFT
    if kind is ExportKind.PLAN:
        return (_file(f"{begin}.json", content, "application/json", digest, mark),)
    draft = f"DRAFT: plan {digest} is not approved"
    if kind is ExportKind.STARTING_OFFSETS:
        form = starting_form(plan.targets, plan.requirements.engine)
        text = form.draft(form.text(plan), draft) if nobody_may else form.text(plan)
        return (_file(f"{begin}.{form.name}.{form.suffix}", text.encode(), form.mime, digest, mark),)
    lines = consumer_groups_csv(plan)
    text = f"{draft}\n{lines}" if nobody_may else lines
    return (_file(f"{begin}.groups.csv", text.encode(), "text/csv", digest, mark),)


def _approval_files(digest: str, marks: Mapping[bytes, SheetMark]) -> tuple[Export, ...]:
    """Return a file for each envelope, numbered from 1; the names of withdrawn ones are marked."""
    return tuple(
        _file(
            f"{_begin(said) if said is SheetMark.WITHDRAWN else ''}plan-{digest[:8]}.approval-{number}.json",
            envelope,
            "application/json",
            digest,
            said,
        )
        for number, (envelope, said) in enumerate(marks.items(), 1)
    )


def commands(digest: str, *, approvals: int, mark: SheetMark, output: str | None = None) -> tuple[str, ...]:
    """Return the commands that try, apply and verify an exported plan, in this order, as far as they may be run.

    Args:
        digest: The plan's digest.
        approvals: The number of exported approvals.
        mark: The mark of the plan's file: a draft is only tried, and an applied plan only verified.
        output: The path of a copy or file; None if no target takes one.
    """
    name = f"plan-{digest[:8]}"
    written = "" if output is None else f" --output {quote(output)}"
    dry = f"offsetwise apply {_begin(mark)}{name}.json --migration migration.yaml{written}"
    verify = f"offsetwise verify {name}.receipt.json --migration migration.yaml"
    if mark is not SheetMark.APPROVED:
        return (verify,) if mark is SheetMark.APPLIED else (dry,)
    signed = "".join(f" --approval {name}.approval-{number}.json" for number in range(1, approvals + 1))
    return dry, f"{dry}{signed} --execute", verify


def _begin(mark: SheetMark) -> str:
    return "" if mark is SheetMark.APPROVED else f"{mark}-"


def _file(name: str, content: bytes, mime: str, digest: str, mark: SheetMark) -> Export:
    return Export(name=name, content=content, mime=mime, digest=digest, mark=mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The part of a migration file about where its plans are applied, and what they move."""

    checkpoints: tuple[tuple[str, str], ...] = ()
    """(name, URI) of each checkpoint."""
    write_root: str | None = None
    """The first write root of the migration file."""
    servers: str | None = None
    """The bootstrap servers of the new cluster, HOST:PORT."""


def destination_of(migration: Migration, *, recorded: bool) -> Destination:
    """Return where plans of a migration are applied; `recorded` means a bundled sample, whose folders are anywhere."""
    servers = migration.target.properties.get("bootstrap.servers")
    root = next((str(write_root) for write_root in migration.write_roots), None)
    return Destination(
        checkpoints=tuple((checkpoint.name, checkpoint.uri) for checkpoint in migration.checkpoints),
        write_root="applied" if recorded else root,
        servers=servers if isinstance(servers, str) else None,
    )


def job_of(moves: str, checkpoints: Iterable[tuple[str, str]]) -> str:
    """Return the short name of what a plan moves.

    Args:
        moves: As the plan states it.
        checkpoints: (name, URI) of the checkpoints of its migration file; their names are preferred to folder names.

    >>> job_of("checkpoint s3://bucket/orders-3", [("orders", "s3://bucket/orders-3")]), job_of("group etl on old", ())
    ('orders', 'etl')
    """
    before = _TRANSACTIONS if moves.startswith(_TRANSACTIONS) else ""
    moves = moves.removeprefix(before)
    if not moves.startswith(_CHECKPOINT):
        return f"{before}{moves.removeprefix(_GROUP).rpartition(' on ')[0] or moves}"
    uri = moves.removeprefix(_CHECKPOINT)
    names = (name for name, at in checkpoints if _same(at, uri))
    return f"{before}{next(names, uri.rpartition('/')[2] or uri)}"


def _same(of_file: str, of_plan: str) -> bool:
    """Return whether two URIs name one checkpoint: a plan of a bundled sample has a URI relative to the sample."""
    here, there = of_file.rstrip("/"), of_plan.rstrip("/")
    return here == there or here.endswith(f"/{there.removeprefix('./')}")


def output_of(plan: Plan, destination: Destination) -> str | None:
    """Return the value of `--output` for `apply`; None if no target of the plan takes one.

    Its last part is the name of the job, in characters that every file system allows.
    """
    if all(target_type(target.kind).where is not Where.OUTPUT for target in plan.targets):
        return None
    if destination.write_root is None:
        return "DIR"
    job = _UNUSUAL.sub("-", job_of(plan.moves, destination.checkpoints)).strip("-.") or "job"
    return f"{destination.write_root.rstrip('/')}/{job}"


def archive(
    plan: Plan,
    content: bytes,
    *,
    digest: str,
    envelopes: tuple[bytes, ...],
    mark: SheetMark,
    destination: Destination,
) -> Export:
    """Return the archive of an approved plan: equal bytes for equal plan, approvals and destination.

    Args:
        plan: The plan.
        content: Its file, every byte.
        digest: The plan's digest.
        envelopes: The valid approvals, in their order.
        mark: The mark in the file names.
        destination: Where it is applied.

    Raises:
        PlanError: It is not approved, or was applied already.
    """
    if mark is not SheetMark.APPROVED:
        raise PlanError(
            f"Plan {digest[:12]}…: expected an approved one, found one that is marked {mark}. Nothing was packed.",
            fix="Export a plan that enough people approve.",
        )
    parts = [
        *exported(ExportKind.PLAN, plan, content, digest=digest, envelopes=(), mark=mark),
        *exported(ExportKind.APPROVAL, plan, content, digest=digest, envelopes=envelopes, mark=mark),
    ]
    text = readme(plan, parts, digest=digest, envelopes=envelopes, destination=destination)
    content = packed([(README, text.encode()), *((part.name, part.content) for part in parts)])
    return Export(name=f"plan-{digest[:8]}.zip", content=content, mime="application/zip", digest=digest, mark=mark)


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip archive of files by their names: equal bytes for equal files."""
    content = BytesIO()
    # Stored, not compressed: the output of a compression library changes between releases.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archived:
        for path, data in files:
            info = zipfile.ZipInfo(path, _EPOCH)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archived.writestr(info, data)
    return content.getvalue()


def readme(
    plan: Plan,
    parts: Sequence[Export],
    *,
    digest: str,
    envelopes: tuple[bytes, ...],
    destination: Destination,
) -> str:
    output = output_of(plan, destination)
    dry, execute, verify = commands(digest, approvals=len(envelopes), mark=SheetMark.APPROVED, output=output)
    rollback = f"{verify.replace('offsetwise verify', 'offsetwise rollback')} --execute"
    needs = plan.requirements
    sums = "\n".join(f"{hashlib.sha256(part.content).hexdigest()}  {part.name}" for part in parts)
    by = "\n".join(
        approver_line(stated_in(ApprovalFile(name="to be packed", content=envelope))) for envelope in envelopes
    )
    steps = (
        ("1. Check the files", f"sha256sum --check <<'END'\n{sums}\nEND"),
        ("2. Dry run: says what would be written, and writes nothing", dry),
        ("3. Apply", execute),
        ("4. Verify, before the job starts and after it", verify),
        ("To take it back, until the job has written anything", rollback),
        *_watched(needs.cutover, f"plan-{digest[:8]}.json"),
    )
    message = "\n\n".join(f"## {title}\n\n```sh\n{command}\n```" for title, command in steps)
    output_note = "\n`DIR` is a folder that does not exist yet, below a write root of the migration file.\n"
    return (
        f"# Plan {digest[:8]} · {marked(job_of(plan.moves, destination.checkpoints))}\n\n"
        f"{plan.strategy[:1].upper()}{plan.strategy[1:]}. From {cluster_name(needs.old.name, needs.old.cluster_id)} to "
        f"{cluster_name(needs.new.name, needs.new.cluster_id)}. Digest `{digest}`.\n\nApproved by\n\n{by}\n\n"
        "Stop the job first. Run the commands in the folder of this file. `migration.yaml` is your migration file: it "
        "names the clusters, and the keys that `apply` believes.\n"
        f"{output_note if output == 'DIR' else ''}{_required(needs.cutover)}\n{message}\n\n{_positions(plan)}"
    )


def _required(cutover: CutoverRequirement | None) -> str:
    if cutover is None:
        return ""
    return f"\nThe plan requires that {required(cutover)}. `apply` watches them for that time, and refuses else.\n"


def _watched(cutover: CutoverRequirement | None, name: str) -> Iterator[tuple[str, str]]:
    if cutover is not None:
        yield "To see how far the old logs are", f"offsetwise cutover --migration migration.yaml --plan {name} --watch"


def approver_line(said: Statement) -> str:
    """Return the signer, the time, and the expiry of an approval, as a list element in Markdown."""
    since, until = (moment(int(at.timestamp() * 1000)) for at in (said.approved_at, said.expires_at))
    return f"- {marked(said.subject)} ({marked(said.issuer)}), {since}, good until {until}"


def cluster_name(name: str, cluster_id: str | None) -> str:
    return marked(name) if cluster_id is None else f"{marked(name)} (`{marked(cluster_id)}`)"


def _positions(plan: Plan) -> str:
    if not plan.positions:
        return ""
    rows = []
    for position in plan.positions[:_MOST]:
        shift = verdicts.shift(position)
        cells = (
            f"{marked(position.new_topic)}-{position.partition}",
            "none" if position.old_offset is None else number(position.old_offset),
            number(position.new_offset),
            "" if shift is None else signed(shift),
        )
        rows.append(f"| {' | '.join(cells)} |")
    remaining = len(plan.positions) - len(rows)
    more = f"\n{many(remaining, 'more partition')} in the plan's file.\n" if remaining else ""
    return (
        "## What it writes\n\n| partition | from | to | shift |\n|---|---:|---:|---:|\n" + "\n".join(rows) + f"\n{more}"
    )


def groups_command(groups: Sequence[str], file: str, destination: Destination) -> str:
    """Return the `kafka-consumer-groups` commands that set groups from a file: dry run, execute, describe.

    Args:
        groups: The names of the groups.
        file: The name of the CSV file.
        destination: Has the servers of the cluster.
    """
    named = " ".join(f"--group {quote(name)}" for name in groups)
    tool = f"kafka-consumer-groups --bootstrap-server {quote(destination.servers or 'HOST:PORT')} {named}"
    reset = f"{tool} --reset-offsets --from-file {file}"
    return f"{reset} --dry-run\n{reset} --execute\n{tool} --describe"
