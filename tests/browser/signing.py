"""What an operator writes so that people can sign in, and how somebody does."""

from __future__ import annotations

import secrets
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import settle
from tests.browser.oidc import CLIENT, CLIENT_SECRET


def write_secrets(folder: Path, issuer: str) -> None:
    """Write Streamlit's secrets into the folder that a console is started from, as docs/sign-in.md says."""
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "secrets.toml").touch(0o600)
    (folder / ".streamlit" / "secrets.toml").write_text(
        "[auth]\n"
        'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
        f'cookie_secret = "{secrets.token_hex(32)}"\n'
        f'client_id = "{CLIENT}"\n'
        f'client_secret = "{CLIENT_SECRET}"\n'
        f'server_metadata_url = "{issuer}/.well-known/openid-configuration"\n',
        encoding="utf-8",
    )


def sign_in(page: Page, who: str) -> None:
    """Sign in on a page that asks for it."""
    page.get_by_test_id("stMain").get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=who, exact=True).click()
    settle(page)
