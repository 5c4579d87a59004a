"""A folder with the plans of many jobs, each with the comparison that it was drafted from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from offsetwise import files, new_files
from offsetwise.comparison import Scene
from offsetwise.config import Migration
from offsetwise.errors import FileError, OffsetwiseError, PlanError
from offsetwise.model import Comparison, Plan, PlanSet
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.drift import drift
from offsetwise.plan.reading import plan_bytes, read_plan
from offsetwise.plan.request import DraftRequest, takers
from offsetwise.plan.sets.file import PLAN_SUFFIX, SET_FILE
from offsetwise.plan.sets.several_jobs import request_of
from offsetwise.plan.settings import accepted
from offsetwise.workflow.comparing_all import ComparisonFolder, settings_of
from offsetwise.workflow.scenes import WantedJob

DRAFTS: Final = "drafts.jsonl"
"""The name and digest of every drafted plan, one JSON line each, to recognize plans that were edited since."""
_WRITTEN: Final = (".receipt.json", ".receipt.json.journal")
"""The suffixes of files that `apply` writes, instead of the suffix of the plan's file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    job: WantedJob
    plan: Plan
    file: str
    """The name of the plan's file, in a folder with all others."""
    content: bytes
    """Every byte of that file."""
    reused: bool = False
    """Whether the plan comes from an earlier command, and is still valid."""

    @classmethod
    def of(cls, job: WantedJob, plan: Plan, file: str) -> Self:
        return cls(job=job, plan=plan, file=file, content=files.dump(plan).encode())


def plan_name(name: str) -> str:
    """Return the file name of a job's plan, from that of its comparison.

    >>> plan_name("checkpoint-orders.json")
    'checkpoint-orders.plan.json'
    """
    return name.removesuffix(".json") + PLAN_SUFFIX


class PlanFolder:
    """Stores plans, and decides which of them are still valid.

    Args:
        path: The folder; created if missing.
        migration: The migration.
        request: The request for every job.
        max_age_s: The maximum age of the comparison of a plan that is used again, in seconds.
        names: The file name of each job's comparison; see `file_names`.

    Raises:
        FileError: It cannot be used, or its set has begun to be applied.
    """

    def __init__(
        self, path: Path, migration: Migration, request: DraftRequest, max_age_s: float, names: Mapping[WantedJob, str]
    ) -> None:
        self._comparisons = ComparisonFolder(path, settings_of(migration), max_age_s, names)
        self._names = names
        self._path = path
        self._request = request
        self.reused: dict[WantedJob, JobPlan] = {}
        """The jobs whose plans are still valid."""
        self._require_set_not_begun("Nothing was drafted.")
        self._drafted = set(_drafts(path / DRAFTS))

    def _require_set_not_begun(self, effect: str) -> None:
        begun = self._path / f"{SET_FILE}.journal"
        if os.path.lexists(begun):
            raise FileError(
                f"{self._path}: expected a folder whose plans nobody has begun to apply, found {begun.name}. {effect}",
                fix="Name another folder: these plans are needed to go on, and to take back what was written.",
            )

    def has(self, job: WantedJob) -> bool:
        return self._comparisons.has(job) and os.path.lexists(self._path / plan_name(self._names[job]))

    def known(self, job: WantedJob, scene: Scene) -> Comparison | None:
        """Return the comparison of a job whose plan is still valid; None if it must be drafted.

        No plan is drafted from the comparison in a file, because people can change it.

        Raises:
            FileError: Something else has the name of its plan, or that plan has begun to be applied.
        """
        file = self._path / plan_name(self._names[job])
        if not os.path.lexists(file):
            return None
        content = plan_bytes(file)
        if (file.name, digest_of(content)) not in self._drafted:
            raise FileError(
                f"{file}: expected a plan as this command drafted it before, found another file: it was edited, or "
                "somebody else wrote it. It is as it was.",
                fix="Move it away, then run the same command again; or name another folder.",
            )
        comparison = self._comparisons.known(job, scene)
        plan = None if comparison is None else self._holding(job, content, comparison, scene)
        if plan is not None:
            self.reused[job] = JobPlan(job=job, plan=plan, file=file.name, content=content, reused=True)
            return comparison
        _require_not_begun(file)
        return None

    def _holding(self, job: WantedJob, content: bytes, comparison: Comparison, scene: Scene) -> Plan | None:
        """Return a plan if it was drafted from this comparison for the same request, and its requirements hold now.

        Requirements about services and sinks are not read here: such a plan is drafted again.
        """
        try:
            plan = read_plan(content, subject="the plan")
            request = request_of(self._request, job, comparison)
        except (FileError, PlanError):
            return None
        required = plan.requirements
        expected = (request.targets, request.author, request.editors, request.cutover)
        same = (plan.targets, plan.author, plan.editors, required.cutover) == expected and request.cutover_ms is None
        settled = plan.settings == accepted(takers(request), request.settings)
        settled = settled and (plan.left_unset == () or request.unset is not None)
        elsewhere = required.targets or required.tables or required.sink
        if not same or not settled or elsewhere or plan.compared_at != comparison.taken_at:
            return None
        return None if drift(plan, scene.old, scene.new, scene.subject.read) else plan

    def keep(self, drafted: JobPlan | OffsetwiseError, comparison: Comparison) -> None:
        """Write a plan, and the comparison that it was drafted from; do nothing if there is no plan.

        Raises:
            FileError: They cannot be written; or the set, or a plan there, has begun to be applied meanwhile.
        """
        if not isinstance(drafted, JobPlan):
            return
        # Comparing takes minutes, in which somebody may have begun to apply the plans of an earlier draft.
        self._require_set_not_begun("The plans and the set are as they were.")
        _require_not_begun(self._path / drafted.file)
        self._comparisons.write(drafted.job, comparison)
        line = json.dumps({"digest": digest_of(drafted.content), "file": drafted.file}, sort_keys=True)
        new_files.append_line(self._path / DRAFTS, line)
        new_files.write_over(self._path / drafted.file, drafted.content.decode())

    def finish(self, plan_set: PlanSet) -> None:
        """Write the set.

        Raises:
            FileError: It cannot be written; or the set there has begun to be applied meanwhile.
        """
        self._require_set_not_begun("The set is as it was.")
        new_files.write_over(self._path / SET_FILE, files.dump(plan_set))


def _require_not_begun(file: Path) -> None:
    written = next((path for path in map(file.with_suffix, _WRITTEN) if os.path.lexists(path)), None)
    if written is not None:
        raise FileError(
            f"{file}: expected a plan that nobody has begun to apply, to draft it again, found {written.name}. "
            "It is as it was.",
            fix="Name another folder: this plan is needed to go on, and to take back what was written.",
        )


def _drafts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the digest of every drafted plan; a line torn by a crash is ignored."""
    if not os.path.lexists(path):
        return
    for line in files.read_bytes(path, "a list of drafts", fix="Move it away.").splitlines():
        try:
            body = files.parse_object(line, most=10_000)
        except ValueError:
            continue
        yield str(body.get("file")), str(body.get("digest"))
