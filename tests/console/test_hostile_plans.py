"""Hostile names in every part of a plan and of the people around it are text on every page that shows a plan."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.model import Override, Target
from offsetwise.review.people import recorded
from tests.approval.signed import PLAN
from tests.console import builders
from tests.console.boards import ADA, RITA, Stage, claims, here
from tests.console.conftest import words
from tests.with_cases import with_cases

__all__ = ["here"]

PAGES = ("pages/explore/overview.py", "pages/plan/review.py", "pages/plan/export.py", "pages/operate/audit.py")


@with_cases("name", builders.HOSTILE)
def test_a_hostile_name_is_text_on_every_page(here: Stage, name: str) -> None:
    author, reviewer = replace(ADA, name=name), replace(RITA, name=name)
    override = Override(offset=950, reason=name, by=recorded(ADA))
    position = replace(PLAN.positions[0], topic=name, new_topic=name, reason=name, override=override)
    saved = here.scene.submitted(
        author,
        moves=name,
        migration=name,
        positions=(position,),
        strategy=name,
        keeps=(name,),
        gives_up=(name,),
        targets=(Target(kind="consumer-group", group=name),),
    )
    here.scene.board.comment(reviewer, saved.plan, name)
    here.scene.approve(author, saved)
    for address in PAGES:
        page = here.open(address, reviewer)
        page.user = {**claims(reviewer), "groups": [name]}
        page.run()
        assert not page.exception, address
        shown = words(page) + "\n".join(str(each.value) for each in (*page.header, *page.subheader, *page.title))
        assert "<img" not in shown.replace("\\<img", ""), address
        assert "\u202e" not in shown, address
        assert "a|b*c_d[e](f)" not in shown.replace("`a|b*c_d[e](f)`", ""), address
        cells = [str(cell) for frame in page.dataframe for column in frame.value for cell in frame.value[column]]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@")) or "\u202e" in cell], address
