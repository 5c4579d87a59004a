"""The two positions to choose from if foreign records lie below the cut: the lower bound and the counted cut. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import AnyPosition, Exactness, Method, PartitionComparison
from offsetwise.wording import many


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    name: str
    offset: AnyPosition
    replay: int
    """How many records are read twice: an upper bound at the lower bound, counted at the cut."""
    never_read: int
    """How many foreign records of the new log the job would never read."""
    price: str
    """A sentence without a full stop."""

    @property
    def reason(self) -> str:
        return f"{self.name.capitalize()}: {self.price}."


def alternatives(row: PartitionComparison) -> tuple[Alternative, ...]:
    """Return the positions to choose from in one partition, the lower one first; empty if there is no such choice.

    A cut is counted so that every record of the old log from the position on that has a copy has it at or above the
    cut. That rules out skips if both logs were read to their ends and every unread record has a copy: a missing copy
    could lie below. Then `ahead` counts what the cut repeats. The bounds are the two positions.
    """
    low, cut = row.bounds
    if row.exactness is not Exactness.BOUNDED or row.method is not Method.CONTENT or not row.counted:
        return ()
    if not row.foreign_below or row.replay is None or low is None or cut is None or low != row.new_offset:
        return ()
    ahead = row.ahead
    if not ahead.examined or ahead.missing != 0 or ahead.duplicated is None:
        return ()
    repeated = f"{many(ahead.duplicated, 'record')} read twice" if ahead.duplicated else "none read twice"
    others = many(row.foreign_below, "record")
    return (
        Alternative(
            name="the lower bound",
            offset=low,
            replay=row.replay,
            never_read=0,
            price=f"no record that was counted is missed, at most {many(row.replay, 'record')} read twice",
        ),
        Alternative(
            name="the counted cut",
            offset=cut,
            replay=ahead.duplicated,
            never_read=row.foreign_below,
            price=f"no record of the old log is skipped and {repeated}; {others} that the old log does not explain "
            "never read",
        ),
    )
