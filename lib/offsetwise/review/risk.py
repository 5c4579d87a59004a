"""The risks of a plan that a reviewer must not overlook, and the text that they type to confirm them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from offsetwise.approval import demo
from offsetwise.model import Exactness, Outcome, Plan, PlannedPosition, Start
from offsetwise.plan.checks import unmet
from offsetwise.plan.refusals import FROM_FILES, without_proofs
from offsetwise.wording.irreversible import confirmation

_TYPABLE: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFacts:
    """The facts about a version that a decision needs, stored so that its file is not parsed again."""

    partitions: int
    risky: int
    """The number of partitions with at least one risk."""
    confirm: str | None
    """The text that an approver has to type; None if nothing is unsafe or skips, and all of it can be rolled back."""
    sample: bool
    """Whether it is a plan of the bundled sample."""
    names: tuple[str, ...]
    """Its author and editors, as it records them."""
    unmet: tuple[str, ...] | None = None
    """The names of the unmet checks; None for a version stored by a release that did not check."""
    has_proofs: bool = False
    """Whether each position that is called proven has a proof that `apply` can repeat; False for a version stored by a
    release that did not check."""

    def not_met(self, plan: Callable[[], Plan]) -> tuple[str, ...]:
        """Return the names of the unmet checks; `plan` is called only if they were not stored."""
        return unmet(plan()) if self.unmet is None else self.unmet

    def dump(self) -> str:
        return json.dumps(
            {
                "partitions": self.partitions,
                "risky": self.risky,
                "confirm": self.confirm,
                "sample": self.sample,
                "names": self.names,
                "has_proofs": self.has_proofs,
                "unmet": self.unmet,
            },
            sort_keys=True,
        )

    @classmethod
    def load(cls, text: str) -> VersionFacts:
        body = json.loads(text)
        unmet = body.get("unmet")
        return cls(**{**body, "names": tuple(body["names"]), "unmet": None if unmet is None else tuple(unmet)})


def facts_of(plan: Plan, digest: str) -> VersionFacts:
    risky = [position for position in plan.positions if any(True for _ in risks(position))]
    return VersionFacts(
        partitions=len(plan.positions),
        risky=len(risky),
        confirm=_confirm(plan, digest, risky),
        sample=demo.is_of_sample(plan),
        names=(plan.author, *plan.editors),
        has_proofs=not without_proofs(plan),
        unmet=unmet(plan),
    )


def risks(position: PlannedPosition) -> Iterator[str]:
    if position.skip is None:
        yield "it is not known how many records are skipped"
    elif position.skip > 0:
        yield f"{position.skip} skipped"
    if position.replay is None:
        yield "it is not known how many records are read twice"
    if position.foreign_below is not None and position.foreign_below > 0:
        yield f"{position.foreign_below} foreign below"
    if position.exactness in (Exactness.CLAIMED, Exactness.UNKNOWN):
        yield f"the position is {position.exactness.lower()}"
    if position.override is not None:
        yield f"decided by a person: {position.override.reason}"
    elif position.start is not Start.TRANSLATED and position.old_offset is not None:
        yield f"started at {position.start} in place of its position"


def plan_risks(plan: Plan) -> Iterator[str]:
    """Yield the risks of a plan as a whole, a sentence each.

    Without its findings: drafting stops at blocking ones unless a person decides, and that is a risk of the position.
    """
    if plan.from_files:
        yield FROM_FILES
    for check in plan.gate:
        if check.outcome is not Outcome.PASSED:
            yield f"{check.name}: {check.told}"


def _confirm(plan: Plan, digest: str, risky: list[PlannedPosition]) -> str | None:
    words = (_unsafe(plan, digest, risky), confirmation(plan))
    return " ".join(word for word in words if word is not None) or None


def _unsafe(plan: Plan, digest: str, risky: list[PlannedPosition]) -> str | None:
    if not risky and (not plan.positions or next(plan_risks(plan), None) is None):
        return None
    count = Counter(position.new_topic for position in risky or plan.positions)
    topic = min(count, key=lambda name: (-count[name], name))
    return topic if _TYPABLE.fullmatch(topic) else digest[:8]
