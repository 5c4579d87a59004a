"""The partitions of a plan as a reviewer needs them: what is unsafe, what changed, then what is not exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from offsetwise import wording
from offsetwise.console.choosing import row_names
from offsetwise.console.escaping import markdown
from offsetwise.model import Plan, PlannedPosition, Start
from offsetwise.review.difference import Difference
from offsetwise.review.risk import risks
from offsetwise.wording import many, number, verdicts
from offsetwise.wording.verdicts import Tone, Verdict


class Look(IntEnum):
    """How much a partition needs a look, most first."""

    UNSAFE = 0
    CHANGED = 1
    INEXACT = 2
    NOTHING = 3


LOOKS: Final = {
    Look.UNSAFE: Verdict(icon="!", word="unsafe", tone=Tone.WRONG),
    Look.CHANGED: Verdict(icon="▲", word="changed", tone=Tone.CAREFUL),
    Look.INEXACT: Verdict(icon="≈", word="not exact", tone=Tone.CAREFUL),
    Look.NOTHING: Verdict(icon="✓", word="proven", tone=Tone.RIGHT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One partition of a plan under review."""

    position: PlannedPosition
    name: str
    """Tells it apart from every other one of the plan, on screen and in the URL."""
    look: Look
    risks: tuple[str, ...]
    """What is unsafe about it, a clause each."""
    changed: tuple[str, ...]
    """The parts that the version before had otherwise; empty where there is none, or nothing changed."""

    @property
    def told(self) -> str:
        """Give the evidence, or who decided and why, and why it needs a look, in one line."""
        one = self.position
        own = "" if one.override is None else f"{one.override.by}: {one.override.reason}"
        clauses = [clause for clause in self.risks if one.override is None or one.override.reason not in clause]
        changed = f"changed: {', '.join(map(spoken, self.changed))}" if self.changed else ""
        parts = [own or one.reason, *clauses, changed]
        return " · ".join(part for part in parts if part)


def rows_of(plan: Plan, since: Difference | None) -> tuple[Row, ...]:
    """Give the partitions of a plan, those that most need a look first.

    Args:
        plan: The plan.
        since: What it changes against the version before; None where it is the first one.
    """
    changed = {} if since is None else {(c.source, c.topic, c.partition): c.parts for c in since.positions}
    names = row_names(plan.positions, among=plan.positions)
    made = []
    for one, name in zip(plan.positions, names, strict=True):
        found = tuple(risks(one))
        parts = changed.get((one.source, one.topic, one.partition), ())
        made.append(
            Row(
                position=one,
                name=name,
                look=_look(one, found, parts),
                risks=found,
                changed=parts,
            )
        )
    return tuple(sorted(made, key=_order))


def headline(rows: Sequence[Row]) -> str:
    """Say how many need a look."""
    count = sum(row.look is not Look.NOTHING for row in rows)
    if not count:
        return f"{many(len(rows), 'partition')}, all proven and as before"
    needs = "needs" if count == 1 else "need"
    return f"{number(count)} of {many(len(rows), 'partition')} {needs} a look, shown first"


def mark(one: PlannedPosition) -> Verdict:
    """Say how the place is known, or that a person chose it."""
    if one.override is not None:
        return Verdict(icon="✎", word="override", tone=Tone.WRONG)
    if one.start is not Start.TRANSLATED:
        return Verdict(icon="✎", word=f"starts at {one.start}", tone=Tone.CAREFUL)
    return verdicts.EXACTNESS[one.exactness]


def at_most(one: PlannedPosition, count: int | None) -> str:
    """Print how many records are read twice or never, as far as it is known.

    Only what was counted between proven places is a number; anything else is a bound.
    """
    if count is None:
        return "?"
    return number(count) if one.counted and one.exactness.proven else wording.at_most(count)


def cost(rows: Sequence[Row]) -> tuple[str, str, str]:
    """Give what is skipped and replayed in all, and what is not known of it. A sum over unknown parts is a bound below.

    >>> cost(())
    ('0', '0', '')
    """
    made = []
    unknown = 0
    for counts in ([row.position.skip for row in rows], [row.position.replay for row in rows]):
        missing = counts.count(None)
        unknown = max(unknown, missing)
        total = sum(count for count in counts if count is not None)
        made.append("?" if missing else wording.at_most(total))
    told = "" if not unknown else f"of {many(unknown, 'partition')} it is not known"
    return made[0], made[1], told


def spoken(part: str) -> str:
    """Give the name of a part of a plan in words.

    >>> spoken("new_offset")
    'new offset'
    """
    return part.replace("_", " ")


def title(row: Row) -> str:
    """Head the details of a row. Markdown."""
    one = row.position
    there = "" if one.new_topic == one.topic else f" on {markdown(one.new_topic)}"
    start = "no position" if one.old_offset is None else number(one.old_offset)
    return f"{markdown(row.name)} · {start} → {number(one.new_offset)}{there}"


def _look(one: PlannedPosition, found: tuple[str, ...], parts: tuple[str, ...]) -> Look:
    if found:
        return Look.UNSAFE
    if parts:
        return Look.CHANGED
    return Look.NOTHING if one.exactness.proven else Look.INEXACT


def _order(row: Row) -> tuple[int, bool, int, int, str, int, str]:
    one = row.position
    return (
        row.look,
        one.override is None,
        -(one.skip or 0),
        -(one.replay or 0),
        one.topic,
        one.partition,
        one.source,
    )
