"""The demonstration: plans of the bundled sample, decided by fictitious people.

Its people have no rights elsewhere, its board takes plans of the sample only, and `apply` accepts the demo key for the
sample only.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from offsetwise.approval.demo import demo_key
from offsetwise.review.access import Access, Grant, Role, Roles
from offsetwise.review.board import Board
from offsetwise.review.people import DEMO_ISSUER, Person
from offsetwise.store.reviews import Reviews

AUTHOR = "demo author"
REVIEWER = demo_key().public.subject
VIEWER = "demo viewer"
_NAMES = {
    AUTHOR: (Role.AUTHOR, "Ada, who drafts"),
    REVIEWER: (Role.REVIEWER, "Rita, who reviews"),
    VIEWER: (Role.VIEWER, "Vera, who looks"),
}


def demo_people(now: datetime) -> dict[Role, Person]:
    return {
        role: Person(issuer=DEMO_ISSUER, subject=subject, name=name, signed_in_at=now)
        for subject, (role, name) in _NAMES.items()
    }


def name_of(recorded_as: str) -> str:
    """Return the display name of a recorded person; for a person of the demonstration the one on every screen.

    >>> name_of("offsetwise:demo demo author"), name_of("https://login.example.org 42")
    ('Ada, who drafts', 'https://login.example.org 42')
    """
    issuer, _, subject = recorded_as.partition(" ")
    return _NAMES[subject][1] if issuer == DEMO_ISSUER and subject in _NAMES else recorded_as


def demo_rules() -> Access:
    """Return the access rules of the demonstration. No access file changes them."""
    return Access(
        roles=Roles(
            author=(Grant(issuer=DEMO_ISSUER, subject=AUTHOR),),
            reviewer=(Grant(issuer=DEMO_ISSUER, subject=REVIEWER),),
        )
    )


def demo_board(reviews: Reviews, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Board:
    """Return the board of the demonstration.

    Args:
        reviews: A separate store, because decisions of the demonstration must not be among real plans.
        clock: Returns the time, with its zone.
    """
    return Board(reviews, demo_rules, demo_key=demo_key(), clock=clock)
