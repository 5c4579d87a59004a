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
"""The file name of a set, in the folder of its plans."""
PLAN_SUFFIX: Final = ".plan.json"
"""The suffix of the plans' file names."""
MAX_SET_BYTES: Final = 4 * 1024 * 1024
"""500 plans take 0.2 MB, and as many rejected jobs with their reasons 1 MB."""
MOST_PLANS: Final = 500
"""With this many digests an approval stays well below its size limit."""
_FILE: Final = re.compile(r"[a-zA-Z0-9_%~][a-zA-Z0-9._%~-]{0,240}\.plan\.json")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BEGINNING: Final = re.compile(rb'"format": ?"offsetwise/plan-set"')
_BEGINNING_BYTES: Final = 256
"""How many bytes are searched for `_BEGINNING`: keys are sorted, so this one comes first."""
_KINDS: Final = ("checkpoint ", "group ")


def read_plan_set(content: bytes, *, subject: str) -> PlanSet:
    """Parse the file of a set of plans, without reading the plans.

    Args:
        content: The whole file. Its digest is over exactly these bytes.
        subject: The name of the file in errors, usually its path.

    Raises:
        FileError: It is no file of a plan set.
        PlanError: It has no plan, or more than one approval can cover, or it contradicts itself.
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
    """Raise unless a file is the plan that a set names.

    Args:
        entry: The plan in the set.
        content: All bytes of the file of that name.
        subject: The name of that file in errors, usually its path.

    Raises:
        FileError: It is another plan, or was edited.
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
    """Raise if there are more plans than one approval can cover.

    Args:
        count: The number of plans.
        expected: The beginning of the sentence, up to the limit.

    Raises:
        PlanError: There are more than `MOST_PLANS`.
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
    """Return whether a path leads to a set of plans: to a file whose beginning names the format, or to a folder.

    Any folder counts, because no plan is a folder. An unreadable file does not: reading it as a plan reports why.
    """
    if Path(path).is_dir():
        return True
    try:
        return _BEGINNING.search(regular_files.read_named(path, _BEGINNING_BYTES)) is not None
    except OSError:
        return False
