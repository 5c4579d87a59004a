"""What is remembered of a browser that leaves to sign in."""

from __future__ import annotations

from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

from offsetwise.console.server.wanted_page import MOST, RequestedPage, Wishes, browser_of

WANTED = RequestedPage(path="review", query={"plan": ["3"]}, until_s=100.0)


def test_a_browser_is_known_again_under_every_mask_of_its_cookie() -> None:
    token = bytes(range(16))
    names = {browser_of(generate_xsrf_token_string(token, 1)) for _ in range(20)}
    assert len(names) == 1
    assert names.isdisjoint({browser_of(generate_xsrf_token_string(bytes(16), 1)), None})


def test_a_cookie_that_is_none_stands_for_nobody() -> None:
    for cookie in (None, "", "2|00|00|1", "1|00000000|" + "00" * 16 + "|1", "2|zz|" + "00" * 16 + "|1", "x" * 10_000):
        assert browser_of(cookie) is None


def test_a_wish_is_fulfilled_once_and_not_too_late() -> None:
    wishes = Wishes()
    wishes.keep("one", WANTED)
    assert wishes.take_at("other", 1.0) is None
    assert wishes.take_at("one", 1.0) == WANTED
    assert wishes.take_at("one", 1.0) is None
    wishes.keep("one", WANTED)
    assert wishes.take_at("one", 100.0) is None


def test_only_so_many_wishes_are_kept() -> None:
    wishes = Wishes()
    for number in range(MOST + 1):
        wishes.keep(str(number), WANTED)
    assert wishes.take_at("0", 1.0) is None
    assert wishes.take_at(str(MOST), 1.0) == WANTED
