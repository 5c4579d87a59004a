"""A board on the sample's plan, and people around it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from offsetwise import files
from offsetwise.approval import Verdict, keygen, write_keys
from offsetwise.plan.draft import totals_of
from offsetwise.review.access import Access, Decisions, Grant, Roles
from offsetwise.review.answers import SavedVersion, Submitted
from offsetwise.review.board import Board
from offsetwise.review.people import Person
from offsetwise.store.reviews import Reviews
from tests.approval.signed import PLAN

ISSUER = "https://login.example.org"
OTHER_ISSUER = "https://other.example.net"
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def person(subject: str, *, issuer: str = ISSUER, **changes: Any) -> Person:
    """Make somebody who signed in five minutes ago."""
    standard = Person(
        issuer=issuer,
        subject=subject,
        name=subject.title(),
        email=f"{subject}@example.org",
        signed_in_at=NOW - timedelta(minutes=5),
        expires_at=NOW + timedelta(hours=1),
    )
    return replace(standard, **changes)


ADA = person("ada")
ANN = person("ann")
RITA = person("rita")
RALPH = person("ralph")
ROSE = person("rose")
VERA = person("vera")
BOTH = person("both")
"""An author who is a reviewer too."""
ROBOT = person("robot")

ROLES = Roles(
    author=tuple(Grant(issuer=ISSUER, subject=name) for name in ("ada", "ann", "both")),
    reviewer=(
        *(Grant(issuer=ISSUER, subject=name) for name in ("rita", "ralph", "rose", "both", "robot", "eva")),
        Grant(issuer=OTHER_ISSUER, anyone=True),
    ),
)
ROBOTS = (Grant(issuer=ISSUER, subject="robot"),)


@dataclass
class Scene:
    """A board whose rules and clock a test can change."""

    reviews: Reviews
    access: Access
    now: datetime = NOW
    board: Board = field(init=False)

    def __post_init__(self) -> None:
        self.board = Board(self.reviews, lambda: self.access, clock=lambda: self.now)

    def rules(self, **changes: Any) -> None:
        """Change the access file."""
        self.access = self.access.model_copy(update=changes)

    def deciding(self, **changes: Any) -> None:
        """Change how decisions are made."""
        self.rules(decisions=self.access.decisions.model_copy(update=changes))

    def without_role(self, role: str, subject: str) -> None:
        """Take a role away from somebody."""
        left = tuple(grant for grant in getattr(self.access.roles, role) if grant.subject != subject)
        self.rules(roles=self.access.roles.model_copy(update={role: left}))

    def saved(self, by: Person = ADA, moves: str = "orders", **changes: Any) -> SavedVersion:
        """Save a new plan."""
        answer = self.board.save_draft(by, self.drafted(by, moves=moves, **changes))
        assert isinstance(answer, SavedVersion), answer
        return answer

    def drafted(self, by: Person, plan: int | None = None, *, moves: str = "orders", **changes: Any) -> bytes:
        """Draft a plan, or a next version of one, with the names that the board asks for."""
        names = self.board.credits(by, plan)
        given = changes.pop("positions", PLAN.positions)
        positions = tuple(replace(each, source=moves) for each in given)
        made = replace(
            PLAN,
            author=names.author,
            editors=names.editors,
            identities=names.identities,
            positions=positions,
            totals=totals_of(positions),
        )
        return files.dump(replace(made, **changes)).encode()

    def edited(self, by: Person, saved: SavedVersion, **changes: Any) -> SavedVersion:
        """Save a next version of a plan."""
        content = self.drafted(by, saved.plan, **changes)
        answer = self.board.save_draft(by, content, plan=saved.plan, base=saved.digest)
        assert isinstance(answer, SavedVersion), answer
        return answer

    def submitted(self, by: Person = ADA, **changes: Any) -> SavedVersion:
        """Save a new plan and submit it."""
        saved = self.saved(by, **changes)
        assert isinstance(self.board.submit(by, saved.plan, saved.digest), Submitted)
        return saved

    def approve(self, by: Person, saved: SavedVersion, **more: Any) -> Any:
        """Approve a version."""
        return self.board.decide(by, saved.plan, saved.digest, Verdict.APPROVED, **more)

    def reject(self, by: Person, saved: SavedVersion) -> Any:
        """Reject a version."""
        return self.board.decide(by, saved.plan, saved.digest, Verdict.REJECTED)


def access_with_key(folder: Path, **changes: Any) -> Access:
    """Make an access file's rules, with a key of the console's own."""
    path = folder / "console.key"
    write_keys(path, keygen(subject="the console", console=True))
    decisions = Decisions(key=str(path), **changes)
    return Access(roles=ROLES, service_accounts=ROBOTS, decisions=decisions)
