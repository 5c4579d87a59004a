from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote

from offsetwise.approval.envelope import ApprovalFile, stated_in
from offsetwise.lookalikes import marked
from offsetwise.model import Plan, PlanOfSet, PlanSet
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.sets.file import SET_FILE
from offsetwise.plan.target import Where, target_type
from offsetwise.review.exports import README, Destination, Export, approver_line, cluster_name, packed
from offsetwise.review.sheet import SheetMark
from offsetwise.wording import many


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedPlan:
    entry: PlanOfSet
    plan: Plan
    content: bytes
    """Every byte of its file."""


def set_archive(
    plan_set: PlanSet,
    content: bytes,
    plans: Sequence[PackedPlan],
    envelopes: Iterable[bytes],
    destination: Destination,
) -> Export:
    """Return the archive of an approved set: equal bytes for equal set, plans, approvals and destination.

    Args:
        plan_set: The set.
        content: Its file, every byte.
        plans: Its plans, in its order.
        envelopes: The valid approvals of its plans, each once.
        destination: Where they are applied.
    """
    approvals = {f"plan-set.approval-{number}.json": envelope for number, envelope in enumerate(envelopes, 1)}
    files = {SET_FILE: content} | {packed.entry.file: packed.content for packed in plans} | approvals
    digest = digest_of(content)
    steps = [("1. Check the files", _check(files)), *_commands(plans, [*approvals], destination)]
    commands = "\n\n".join(f"## {title}\n\n```sh\n{command}\n```" for title, command in steps)
    text = f"{_head(plan_set, plans, digest, approvals)}\n\n{commands}\n\n{_jobs(plan_set, plans)}"
    archive = packed([(README, text.encode()), *files.items()])
    name = f"plan-set-{digest[:8]}.zip"
    return Export(name=name, content=archive, mime="application/zip", digest=digest, mark=SheetMark.APPROVED)


def _head(plan_set: PlanSet, plans: Sequence[PackedPlan], digest: str, approvals: dict[str, bytes]) -> str:
    by = "\n".join(approver_line(stated_in(ApprovalFile(name=name, content=data))) for name, data in approvals.items())
    needs = plans[0].plan.requirements
    old, new = (cluster_name(side.name, side.cluster_id) for side in (needs.old, needs.new))
    of = "" if plan_set.wave is None else f" · wave {marked(plan_set.wave)}"
    watched = any(packed.plan.requirements.cutover is not None for packed in plans)
    waits = " Plans that require a state of the old logs wait for it when they are applied." if watched else ""
    return (
        f"# Plan set {digest[:8]}{of}\n\n{many(len(plans), 'plan')} of migration {marked(plan_set.migration)}, from "
        f"{old} to {new}. Digest `{digest}`.\n\nApproved by\n\n{by}\n\nStop the jobs first. Run the commands in the "
        "folder of this file. `migration.yaml` is your migration file: it names the clusters, and the keys that "
        f"`apply` believes.{waits}"
    )


def _check(files: dict[str, bytes]) -> str:
    sums = "\n".join(f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in files.items())
    return f"sha256sum --check <<'END'\n{sums}\nEND"


def _commands(plans: Sequence[PackedPlan], approvals: Sequence[str], destination: Destination) -> list[tuple[str, str]]:
    writes = any(target_type(target.kind).where is Where.OUTPUT for packed in plans for target in packed.plan.targets)
    output = f" --output {quote(destination.write_root or 'DIR')}" if writes else ""
    given = f"{SET_FILE} --migration migration.yaml"
    signed = "".join(f" --approval {name}" for name in approvals)
    return [
        ("2. Dry run: says what would be written, and writes nothing", f"offsetwise apply {given}{output}"),
        ("3. Apply, again after a plan that failed", f"offsetwise apply {given}{output}{signed} --execute"),
        ("4. Verify, before the jobs start and after it", f"offsetwise verify {given}"),
        ("To take it back, until a job has written anything", f"offsetwise rollback {given} --execute"),
    ]


def _jobs(plan_set: PlanSet, plans: Sequence[PackedPlan]) -> str:
    rows = [
        f"| {marked(packed.entry.job)} | {marked(', '.join(map(str, packed.plan.targets)))} "
        f"| {len(packed.plan.positions):,} | {packed.entry.file} |"
        for packed in plans
    ]
    table = "\n".join(["| job | writes | positions | plan |", "|---|---|---:|---|", *rows])
    refused_jobs = "\n".join(f"- {marked(refused.job)}: {marked(refused.problem)}" for refused in plan_set.refused)
    without = f"\n## Jobs that have no plan\n\n{refused_jobs}\n" if refused_jobs else ""
    return f"## What it writes\n\n{table}\n{without}"
