"""Bookmarks on a shelf of the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import Field

from offsetwise.model import Plan, ReceiptStep, Target
from offsetwise.plan.settings import Recorded, Settings, settings_of
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plan.ways import Way
from offsetwise.position import offset_of
from offsetwise_bookmarks import service


class BookmarkSettings(Settings):
    """Where the service is."""

    url: str = Field(pattern=r"https?://.+", description="the address of the service that keeps the bookmarks")


def address(settings: Recorded) -> str:
    """Return the address of the service."""
    return settings_of(BookmarkSettings, settings).url


def bookmarks(plan: Plan) -> dict[str, int]:
    """Return the bookmarks that a plan makes."""
    return {f"{one.new_topic}:{one.partition}": offset_of(one.new_offset) for one in plan.positions}


def place(plan: Plan, target: Target) -> str:
    """Return the URL of a shelf."""
    return f"{address(plan.settings)}/{target.group}"


class BookmarksTarget(TargetType):
    """Bookmarks on a shelf of the service."""

    name = "bookmarks"
    label = "bookmarks on shelf"
    where = Where.SERVICE
    role = TargetRole.POSITIONS
    address = "shelf"
    parameters = BookmarkSettings
    ways = (
        Way(
            name="bookmarks",
            order=200,
            target="bookmarks",
            title="bookmarks of the service",
            keeps=("the positions", "what the shelf held before, to put back"),
            gives_up=("the state",),
            needs=("nobody reads by the shelf meanwhile",),
            options=" --set url=URL",
            elsewhere="This page does not know where the service is",
        ),
    )

    def before(self, target: Target, settings: Recorded) -> Mapping[str, str | int | None]:
        """Read the shelf."""
        return service.read(address(settings), target.group or "")

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        """Yield where a step is of another shelf, or has files."""
        if step.place != place(plan, step.target):
            yield f"its place is {step.place[:300]!r}, and the plan's is {place(plan, step.target)!r}"
        if step.files or step.offsets:
            yield "it has files or committed offsets, which a shelf has none of"


TYPE: Final = BookmarksTarget()
