"""Whether what a receipt or a journal says agrees with the plan: only then it is evidence of what was written.

Both are files that anybody with the right to their folder can edit, and what applies, takes back and verifies goes by
them. So nothing in them is believed because it stands there: targets, places, offsets and before-images must be those
of the plan, digests of originals those that were reviewed, and every other path must have the form that writers give
it. A plan in a receipt is the one that was applied only if its digest is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from offsetwise import files
from offsetwise.errors import FileError
from offsetwise.model import Plan, Receipt, ReceiptStep, TargetKind, TopicPartition, WrittenFile
from offsetwise.plan.digest import digest as digest_of
from offsetwise.plan.exports import planned_offsets, seeded_offsets, starting_offsets
from offsetwise.plan.reading import read_plan
from offsetwise.wording import many

_BESIDE: Final = re.compile(r"\.tmp-[0-9a-f]{32}")
"""How a name under construction, or on its way out, goes on from its place's."""
_GUARD: Final = re.compile(r"offsets/(?:0|[1-9][0-9]{0,18})")
_URI: Final = re.compile(r"[a-z][a-z0-9]*://")
_CHANGED: Final = "Somebody has changed this file. Nothing was written and nothing was removed."


def plan_of(receipt: Receipt, plan_bytes: bytes | None, *, subject: str) -> tuple[bytes, Plan]:
    """Give the plan that a receipt is of, every byte and what it says.

    Args:
        receipt: What was handed over.
        plan_bytes: The plan's file where it was given, else the one in the receipt counts, as the tool writes it.
        subject: What to call the receipt in errors, usually its path.

    Raises:
        FileError: The plan is another one than the receipt names by its digest.
        PlanError: It contradicts itself.
    """
    data = files.dump(receipt.plan).encode() if plan_bytes is None else plan_bytes
    found = digest_of(data)
    if found != receipt.plan_digest:
        whose = "the plan in it" if plan_bytes is None else "the plan that was given"
        raise FileError(
            f"{subject}: expected {whose} to be the one that it names, {receipt.plan_digest[:12]}, found {found[:12]}. "
            "Somebody has changed this file, or the plan was approved in another form than the tool writes. "
            "Nothing was written and nothing was removed.",
            fix="Give the plan's file exactly as it was approved, with --plan.",
        )
    plan = read_plan(data, subject=subject)
    if plan != receipt.plan:
        raise FileError(
            f"{subject}: expected the plan that was given, found another one in it. {_CHANGED}",
            fix="Find out who did. Compare what stands at the targets with the plan by hand.",
        )
    return data, plan


def require_agreeing(
    subject: str, plan: Plan, digest: str, steps: Sequence[ReceiptStep], *, places: Sequence[str | None] = ()
) -> None:
    """Refuse a receipt whose steps are not those of its plan.

    Args:
        subject: What to call it in errors, usually its path.
        plan: The plan that it is of.
        digest: The plan's, hex.
        steps: What it says was written.
        places: Where each target stands, as far as that is known.

    Raises:
        FileError: One says something else.
        OffsetwiseError: The plan could not have been written.
    """
    if len(steps) != len(plan.targets):
        raise FileError(
            f"{subject}: expected {many(len(plan.targets), 'target')} as the plan has, found "
            f"{many(len(steps), 'target')}. {_CHANGED}",
            fix="Find out who did. Compare what stands at the targets with the plan by hand.",
        )
    for number, step in enumerate(steps):
        require_step(subject, plan, digest, number, step, place=places[number] if places else None)


def require_step(
    subject: str,
    plan: Plan,
    digest: str,
    number: int,
    step: ReceiptStep,
    *,
    place: str | None = None,
    notes: Mapping[str, str] | None = None,
    begun: bool = False,
) -> None:
    """Refuse what a receipt or a journal says of one target where the plan says something else.

    Args:
        subject: What to call the file in errors, usually its path.
        plan: The plan that it is of.
        digest: The plan's, hex.
        number: The step's.
        step: What it says was written, or was about to be.
        place: Where the target stands; None where that is not known.
        notes: What a journal keeps for the step's writer; None for a receipt.
        begun: Whether the journal says that it began: then its writer has noted what it needs to go on.

    Raises:
        FileError: It does.
        OffsetwiseError: The plan could not have been written.
    """
    wrong = next(_disagreements(plan, digest, number, step, place), None)
    if wrong is None and notes is not None and step.target.kind is not TargetKind.CONSUMER_GROUP:
        wrong = next(_of_notes(digest, step, notes, begun=begun), None)
    if wrong is not None:
        raise FileError(
            f"{subject}: expected step {number + 1} as `offsetwise apply` records it for this plan, but {wrong}. "
            f"{_CHANGED}",
            fix="Give the same --output and checkpoint as at first. If you did, find out who changed the file, and "
            "compare what stands at the target with the plan by hand.",
        )


def _disagreements(plan: Plan, digest: str, number: int, step: ReceiptStep, place: str | None) -> Iterator[str]:
    if number >= len(plan.targets):
        yield f"the plan has {many(len(plan.targets), 'target')}"
        return
    target = plan.targets[number]
    if step.target != target:
        yield f"its target is {step.target}, and the plan's is {target}"
        return
    if target.kind is TargetKind.CONSUMER_GROUP:
        yield from _of_group(plan, target.group or "", step)
        return
    yield from _of_place(step.place, place)
    if step.offsets:
        yield f"it has committed offsets, which {target} has none of"
    yield from _of_files(plan, digest, step)


def _of_group(plan: Plan, name: str, step: ReceiptStep) -> Iterator[str]:
    if step.place != name:
        yield f"its place is {step.place[:300]!r}, and the plan's group is {name!r}"
    if step.files:
        yield "it has files, which a group has none of"
    planned = planned_offsets(plan, name)
    reviewed = {
        TopicPartition(topic=topic, partition=partition): offset
        for each in plan.requirements.groups
        if each.group == name
        for topic, partition, offset in each.offsets
    }
    seen: set[TopicPartition] = set()
    for one in step.offsets:
        key = TopicPartition(topic=one.topic, partition=one.partition)
        if key in seen:
            yield f"it has {key} twice"
        seen.add(key)
        if one.offset != planned.get(key):
            yield f"it has {key} at {one.offset}, and the plan says {planned.get(key, 'nothing')}"
        if one.before != reviewed.get(key):
            before, was = (_committed(each) for each in (one.before, reviewed.get(key)))
            yield f"it says that {before} was committed for {key} before, and {was} was reviewed"
        if one.error is not None:
            yield f"it says that {key} was refused"
    if planned.keys() - seen:
        lacking = min(planned.keys() - seen)
        yield f"it lacks {lacking}, which the plan moves to {planned[lacking]}"


def _of_place(found: str, place: str | None) -> Iterator[str]:
    if not _URI.match(found) and not (os.path.isabs(found) and os.path.normpath(found) == found and "\0" not in found):
        yield f"its place {found[:300]!r} is not a whole path"
    if place is not None and found != place:
        yield f"its place is {found[:300]!r}, expected {place!r}"


def _of_files(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
    if not step.files:
        yield f"it lists no file, and {step.target} has some"
    for one in step.files:
        if not _relative(one.path):
            yield f"its file {one.path[:300]!r} leads out of {step.place}"
    if len({one.path for one in step.files}) != len(step.files):
        yield "it lists a file twice"
    kind = step.target.kind
    if kind is TargetKind.STARTING_OFFSETS:
        wanted = {os.path.basename(step.place): _sha256(starting_offsets(plan).encode())}
        yield from _made(step, wanted)
    elif kind is TargetKind.SEEDED_CHECKPOINT:
        path, data = seeded_offsets(plan)
        yield from _made(step, {"metadata": None, path: _sha256(data)})
    else:
        reviewed = {} if plan.requirements.checkpoint is None else dict(plan.requirements.checkpoint.files)
        for one in step.files:
            yield from _edited(one, reviewed.get(one.path))
        yield from _kept(step, f".offsetwise-{digest[:12]}-")


def _made(step: ReceiptStep, wanted: Mapping[str, str | None]) -> Iterator[str]:
    """Hold new files against what the plan makes; of one that has an id of its own, only that it is there."""
    found = {one.path: one for one in step.files}
    if found.keys() != wanted.keys():
        yield f"it lists {_names(found)}, and the plan makes {_names(wanted)}"
    for path in found.keys() & wanted.keys():
        one = found[path]
        if one.sha256 is None or wanted[path] not in (None, one.sha256) or one.before_sha256 or one.kept_as:
            yield f"its file {path[:300]} is not the one that the plan makes"


def _edited(one: WrittenFile, reviewed: str | None) -> Iterator[str]:
    if one.sha256 is not None and one.before_sha256 is None:
        yield f"it says that {one.path[:300]} is new, and the plan makes no file"
    if reviewed is not None and one.before_sha256 not in ((reviewed,) if one.sha256 is not None else (None, reviewed)):
        yield f"it says that {one.path[:300]} was another file before than the one that was reviewed"


def _kept(step: ReceiptStep, keep: str) -> Iterator[str]:
    in_place = step.target.kind is TargetKind.SPARK_CHECKPOINT_IN_PLACE
    folder = re.compile(rf"{re.escape(keep)}[0-9a-f]{{8}}")
    kept = set()
    for one in step.files:
        where, _, below = (one.kept_as or "").partition("/")
        if one.kept_as is not None and not (in_place and folder.fullmatch(where) and below == f"before/{one.path}"):
            yield f"its file {one.path[:300]} is kept as {one.kept_as[:300]!r}, where no original is kept"
        elif one.kept_as is not None:
            kept.add(where)
        elif in_place and one.sha256 is not None:
            yield f"it keeps no original of {one.path[:300]}"
    if len(kept) > 1:
        yield f"its originals are kept in {_names(kept)}, expected one folder"


def _of_notes(digest: str, step: ReceiptStep, notes: Mapping[str, str], *, begun: bool) -> Iterator[str]:
    place = step.place
    needed: tuple[str, ...] = ("token",) if _URI.match(place) else ("tmp",)
    if step.target.kind is TargetKind.SPARK_CHECKPOINT_IN_PLACE:
        needed = ("keep", "guard")
    for name in needed:
        if begun and name not in notes:
            yield f"it has no note of its {name}"
    for name in ("tmp", "trash"):
        value = notes.get(name)
        if value is not None and not (value.startswith(place) and _BESIDE.fullmatch(value, len(place))):
            yield f"its {name} {value[:300]!r} is no name beside {place}"
    keep, guard = notes.get("keep"), notes.get("guard")
    if keep is not None and not re.fullmatch(rf"\.offsetwise-{digest[:12]}-[0-9a-f]{{8}}", keep):
        yield f"its originals are in {keep[:300]!r}, where none are kept"
    if keep is not None and any(
        one.kept_as is not None and not one.kept_as.startswith(f"{keep}/") for one in step.files
    ):
        yield f"its originals are in {keep!r} and elsewhere"
    if guard is not None and not _GUARD.fullmatch(guard):
        yield f"its guard {guard[:300]!r} is no batch"


def _relative(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()


def _committed(offset: int | None) -> str:
    return "nothing" if offset is None else str(offset)


def _names(paths: Iterable[str]) -> str:
    return ", ".join(sorted(path[:100] for path in paths)) or "nothing"
