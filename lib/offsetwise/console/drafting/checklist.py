"""What has to be true of a draft before anybody decides about it, as far as it can be told. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from offsetwise.console.reviewing.checklist import checks
from offsetwise.model import Comparison, GateCheck, Outcome, Plan
from offsetwise.wording import duration

FRESH: Final = "fresh"
"""What the check is called that a look at the clusters answers on Review."""
YOUNG: Final = timedelta(hours=1)
"""A comparison older than this may well be of another batch than the job's last."""


def checklist(comparison: Comparison, plan: Plan | None, *, recorded: bool, now: datetime) -> tuple[GateCheck, ...]:
    """Give what a reviewer will check, judged as the draft stands; of its freshness what its own reading tells.

    Args:
        comparison: What it is drafted from.
        plan: The draft; None where it may not be made as asked for.
        recorded: Whether the comparison is a recording whose clusters exist no more.
        now: With its time zone.
    """
    fresh = _fresh(comparison, recorded=recorded, now=now)
    if plan is None:
        told = "There is no plan yet: the reasons stand above."
        return (GateCheck(name="every partition has an offset", outcome=Outcome.FAILED, told=told), fresh)
    return (*(each for each in checks(plan, None) if each.name != FRESH), fresh)


def _fresh(comparison: Comparison, *, recorded: bool, now: datetime) -> GateCheck:
    if recorded:
        told = "This is a recording: its clusters exist no more, and nothing on them changes."
        return GateCheck(name=FRESH, outcome=Outcome.PASSED, told=told)
    try:
        then = datetime.fromisoformat(comparison.taken_at)
    except ValueError:
        return GateCheck(name=FRESH, outcome=Outcome.UNKNOWN, told="It is not known when the clusters were read.")
    age = now - (then.replace(tzinfo=UTC) if then.tzinfo is None else then)
    ago = duration(max(0, int(age.total_seconds() * 1000)))
    if age <= YOUNG:
        return GateCheck(name=FRESH, outcome=Outcome.PASSED, told=f"The clusters were read {ago} ago.")
    told = f"The clusters were read {ago} ago, and what moved since is not known. Compare again."
    return GateCheck(name=FRESH, outcome=Outcome.UNKNOWN, told=told)
