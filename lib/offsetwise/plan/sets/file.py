from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offsetwise import files, regular_files
from offsetwise.errors import FileError, OffsetwiseError, PlanError
from offsetwise.model import PlanOfSet, PlanSet
from offsetwise.model.digest import digest as digest_of

SET_FILE: Final = "plan-set.json"
"""The name of a set's file in the folder of its plans."""
PLAN_SUFFIX: Final = ".plan.json"
"""Of the files of its plans."""
MAX_SET_BYTES: Final = 4 * 1024 * 1024
"""Of a set's file: 500 plans take 0.2 MB, and as many refused jobs with their reasons 1 MB."""
MOST_PLANS: Final = 500
"""Of a set: with their digests an approval stays well below the size that is read of one."""
_FILE: Final = re.compile(r"[a-zA-Z0-9_%~][a-zA-Z0-9._%~-]{0,240}\.plan\.json")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BEGINNING: Final = re.compile(rb'"format": ?"offsetwise/plan-set"')
_BEGINNING_BYTES: Final = 256
"""The keys of our files are sorted: this one comes first."""
_KINDS: Final = ("checkpoint ", "group ")


def read_plan_set(content: bytes, *, subject: str) -> PlanSet:
    """Read the file of a set of plans. The plans themselves are not looked at.

    Args:
        content: The whole file. Its digest is over exactly these bytes.
        subject: What to call it in errors, usually its path.

    Raises:
        FileError: It is no file of a plan set.
        PlanError: It has no plan, or more than one approval can be of, or it contradicts itself.
    """
    plan_set: PlanSet = files.load(content, "plan-set", subject=subject)
    require_few(len(plan_set.plans), f"{subject}: expected a set of")
    wrong = next(_contradictions(plan_set), None)
    if wrong is not None:
        raise PlanError(
            f"{subject}: expected a set of plans as it was drafted, but {wrong}. Nothing was used from it.",
            fix="Use the file that `offsetwise draft` wrote, or draft the jobs again.",
        )
    return plan_set


def _contradictions(plan_set: PlanSet) -> Iterator[str]:
    if not plan_set.plans:
        yield "it has no plan"
    for entry in plan_set.plans:
        if _FILE.fullmatch(entry.file) is None:
            yield f"{entry.file[:80]!r} is no name of a plan's file in its folder"
        if _DIGEST.fullmatch(entry.digest) is None:
            yield f"{entry.digest[:80]!r} is no digest"
    jobs = [*(entry.job for entry in plan_set.plans), *(entry.job for entry in plan_set.refused)]
    for job in jobs:
        if not job.startswith(_KINDS):
            yield f"{job[:80]!r} names neither a checkpoint nor a group"
    names = [entry.file.lower() for entry in plan_set.plans]
    for what, values in (("job", jobs), ("file", names), ("digest", [entry.digest for entry in plan_set.plans])):
        twice = next((value for value, count in Counter(values).items() if count > 1), None)
        if twice is not None:
            yield f"it has the {what} {twice[:80]!r} twice"


def require_plan_of(entry: PlanOfSet, content: bytes, *, subject: str) -> None:
    """Go on only with the plan that a set names.

    Args:
        entry: What the set says of it.
        content: Every byte of the file that has its name.
        subject: What to call that file in errors, usually its path.

    Raises:
        FileError: It is another one, or was edited.
    """
    digest = digest_of(content)
    if digest != entry.digest:
        raise FileError(
            f"{subject}: expected the plan of {entry.job} with the digest {entry.digest[:12]}, as the set names it, "
            f"found {digest[:12]}: it was edited or drafted again since. Nothing was used from the set.",
            fix="Put back the file as it was. If it is to be another plan, give the command of `offsetwise draft` "
            "again: it writes the set anew, which is to be approved then.",
        )


def require_few(count: int, expected: str) -> None:
    """Refuse more plans than one approval can be of.

    Args:
        count: How many there are.
        expected: The beginning of the sentence, up to the number that is possible.

    Raises:
        PlanError: There are more.
    """
    if count > MOST_PLANS:
        raise PlanError(
            f"{expected} at most {MOST_PLANS} plans, found {count:,}: one approval names the digest of each. "
            "Nothing was done.",
            fix="Draft fewer jobs at once: name some with --checkpoint and --group.",
        )


def of_job(job: str, error: OffsetwiseError) -> OffsetwiseError:
    return type(error)(f"{job}: {error.problem}", fix=error.fix)


def is_plan_set(path: str | Path) -> bool:
    """Return whether a path leads to a set of plans: to its file, which says so at its beginning, or to a folder.

    A folder is taken for one without a look, because no plan is a folder. What cannot be read is none: whoever reads it
    as a plan says why.
    """
    if Path(path).is_dir():
        return True
    try:
        return _BEGINNING.search(regular_files.read_named(path, _BEGINNING_BYTES)) is not None
    except OSError:
        return False
