"""Signing in with a real OpenID Connect provider, on the console as its operator starts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.conftest import CLI, SCREENSHOTS, console, settle
from tests.browser.oidc import Provider, provider
from tests.browser.signing import sign_in, write_secrets
from tests.integration.flink_cluster import wait_until

PEOPLE: dict[str, dict[str, Any]] = {
    "vera": {"name": "Vera <b>Viewer</b>", "groups": ["staff"]},
    "aron": {"name": "Aron Author", "groups": ["staff", "migration-team"]},
    "aron\u034f": {"name": "Aron Author", "groups": ["staff", "migration-team"]},
    "stranger": {"name": "Vera Viewer", "email": "vera"},
}


TEXT_COLOUR = "rgb(38, 39, 48)"
"""Of the light theme beside app.py, which holds from whatever folder the console is started."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A console that only people with a role may use."""

    address: str
    provider: Provider


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("operator")
    with provider(PEOPLE) as running:
        write(folder, running.issuer)
        command = ("-c", CLI, "console", "--access", "access.yaml", "--port", "{port}")
        with console(*command, log=folder / "log", cwd=folder) as address:
            yield Guarded(address, running)


def write(folder: Path, issuer: str) -> None:
    """Write what an operator writes, as docs/sign-in.md says."""
    write_secrets(folder, issuer)
    (folder / "access.yaml").write_text(
        "sign_in: required\n"
        "roles:\n"
        f"  viewer: [{{issuer: '{issuer}', subject: vera}}]\n"
        f"  author: [{{issuer: '{issuer}', group: migration-team}}]\n",
        encoding="utf-8",
    )


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1400, "height": 1000})
    yield made
    made.close()


def test_a_person_signs_in_follows_a_link_and_signs_out(context: BrowserContext, guarded: Guarded) -> None:
    page = context.new_page()
    page.goto(f"{guarded.address}/compare?row=orders-1")
    settle(page)
    expect(page.get_by_text("This console is for people who sign in.")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_css("color", TEXT_COLOUR)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "locked.png")

    sign_in(page, "vera")
    expect(page.get_by_role("heading", name="Evidence · orders-1")).to_be_visible()
    expect(page).to_have_url(re.compile("/compare\\?.*row=orders-1"))
    expect(page.get_by_test_id("stMain")).to_contain_text("Vera <b>Viewer</b> · viewer")
    page.screenshot(path=SCREENSHOTS / "signed-in.png")

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("This console is for people who sign in.")).to_be_visible()
    wait_until(lambda: "/logout" in guarded.provider.asked, "the provider is told")  # the page may be seen before
    page.goto(f"{guarded.address}/compare?row=orders-1")
    settle(page)
    expect(page.get_by_text("This console is for people who sign in.")).to_be_visible()


@pytest.mark.gates
def test_what_somebody_wanted_opens_once_and_for_nobody_else(
    browser: Browser, context: BrowserContext, guarded: Guarded
) -> None:
    page = context.new_page()
    page.goto(f"{guarded.address}/fleet")
    settle(page)
    other = browser.new_context(viewport={"width": 1400, "height": 1000})
    theirs = other.new_page()
    theirs.goto(guarded.address)
    settle(theirs)
    sign_in(theirs, "aron")
    expect(theirs.get_by_role("heading", name="Offsetwise", level=1)).to_be_visible()
    other.close()

    sign_in(page, "vera")
    expect(page.get_by_role("heading", name="Fleet", level=1)).to_be_visible()
    page.goto(guarded.address)
    settle(page)
    expect(page.get_by_role("heading", name="Offsetwise", level=1)).to_be_visible()


def test_a_group_of_the_provider_gives_a_role(context: BrowserContext, guarded: Guarded) -> None:
    page = context.new_page()
    page.goto(guarded.address)
    settle(page)
    sign_in(page, "aron")
    expect(page.get_by_test_id("stMain")).to_contain_text("Aron Author · viewer, author")


def test_who_signs_in_under_a_name_with_what_nobody_sees_has_no_role(context: BrowserContext, guarded: Guarded) -> None:
    page = context.new_page()
    page.goto(guarded.address)
    settle(page)
    sign_in(page, "aron\u034f")
    expect(page.get_by_text("holds U+034F, which are invisible").first).to_be_visible()
    expect(page.get_by_test_id("stMain")).to_contain_text("Aron Author · no role")


def test_a_name_and_an_address_are_no_identity(context: BrowserContext, guarded: Guarded) -> None:
    page = context.new_page()
    page.goto(guarded.address)
    settle(page)
    sign_in(page, "stranger")
    expect(page.get_by_text("You are signed in, and you have no role here.")).to_be_visible()
    expect(page.get_by_text("subject: stranger")).to_be_visible()


def test_a_forged_token_signs_nobody_in(context: BrowserContext, guarded: Guarded) -> None:
    page = context.new_page()
    page.goto(guarded.address)
    settle(page)
    try:
        for guarded.provider.forge in ("key", "nonce", "audience"):
            sign_in(page, "vera")
            expect(page.get_by_text("This console is for people who sign in.")).to_be_visible()
            assert not [cookie for cookie in context.cookies() if "user" in str(cookie.get("name"))]
    finally:
        guarded.provider.forge = ""
    assert guarded.provider.asked.count("/token") >= 3
