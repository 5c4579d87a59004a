from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config
from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.cli_util import open_browser
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import bootstrap
from streamlit.web.server.server_util import get_display_address, get_url

from offsetwise.bundled import bundled_path, damaged
from offsetwise.console import answers, bundles
from offsetwise.console.reader import MIGRATIONS_VARIABLE, Reader
from offsetwise.console.server import access, identity, log_lines, secrets_files
from offsetwise.console.server.access import LOOPBACK
from offsetwise.console.server.gatekeeper import Gatekeeper, names
from offsetwise.store.address import STORE_VARIABLE
from offsetwise.store.address import address as store_address

_APP: Final = bundled_path("app.py")
_SETTINGS: Final = bundled_path(".streamlit") / "config.toml"
_NO_BROWSER: Final = "STREAMLIT_SERVER_HEADLESS"
"""Streamlit's own variable, which only its own command reads. Without a display no browser is opened anyway."""


def launch(
    migrations: Sequence[Path] = (),
    port: int | None = None,
    *,
    address: str = LOOPBACK,
    access_file: Path | None = None,
    store_url: str | None = None,
    bundle_files: Sequence[Path] = (),
    folders: Sequence[Path] = (),
    reader: Reader | None = None,
) -> None:
    """Serve the console until it is interrupted.

    The files are read before the server starts, so that an error in one is printed to the terminal. The browser never
    names a file: it chooses a migration by name.

    Args:
        migrations: Migration files; without any, only the bundled sample is offered.
        port: TCP port; by default the first free one from 8501 on.
        address: Address to listen on. If others can reach it, people have to sign in.
        access_file: Who may use the console; without one, everybody who can reach it may look.
        store_url: Where samples of lag are stored; by default as in the environment.
        bundle_files: Review bundles of other consoles, to be viewed and decided without their clusters.
        folders: For each migration file, in their order, the folder of its comparisons, plans and receipts.
        reader: Another source of data, for demonstrations and tests.

    Raises:
        FileError: A bundle cannot be used, or the console's pages are not installed.
        PlanError: The plan in a bundle contradicts itself.
        ConfigError: A file cannot be used, or the address would be open to everybody.
    """
    if not _APP.is_file():
        raise damaged(f"The console's pages: expected them at {_APP}, found nothing. The console cannot start.")
    options = _options(address, port)
    bootstrap.load_config_options(flag_options=options)
    has_display = not config.get_option("server.headless")
    secrets_files.check()
    rules = access.load_access(access_file) if access_file else access.Access()
    access.use(rules, access_file)
    access.check_address(address, rules, can_sign_in=bool(identity.providers()))
    if store_url is not None:
        os.environ[STORE_VARIABLE] = store_url
    store_address()
    _read_from(migrations, folders, bundle_files, reader)
    # A folder called `pages` next to app.py makes Streamlit expect its old kind of multipage app until the first page
    # has run: the first deep link of a fresh server then shows "Page not found" over the right page.
    PagesManager.uses_pages_directory = False
    log_lines.escape()
    options |= {
        "server.allowedHosts": sorted(names(address)),
        # With a display, Streamlit would write files for coding agents into the checkout when a page requests them.
        "server.headless": True,
    }
    # The server stops at SIGTERM and at Ctrl-C, and then raises the signal again.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            _server(address, has_display=has_display).run(config=options)
    finally:
        answers.end()


def _read_from(
    migrations: Sequence[Path], folders: Sequence[Path], bundle_files: Sequence[Path], reader: Reader | None
) -> None:
    bundles.use(bundles.load(bundle_files))
    resolved = tuple(path.resolve() for path in migrations)
    os.environ[MIGRATIONS_VARIABLE] = os.pathsep.join(map(str, resolved))
    answers.use(reader or bundles.reader(resolved, tuple(path.resolve() for path in folders)))


def _options(address: str, port: int | None) -> dict[str, object]:
    options = {
        **_shipped(tomllib.loads(_SETTINGS.read_text(encoding="utf-8"))),
        "server.address": address,
        "server.fileWatcherType": "none",
        # Headers that a caller can set must not identify the caller.
        "server.trustedUserHeaders": {},
        "global.developmentMode": False,
        # For its welcome message, Streamlit asks another host for the address of this machine.
        "logger.hideWelcomeMessage": True,
    }
    if port is not None:
        options["server.port"] = port
    if os.environ.get(_NO_BROWSER, "").lower() == "true":
        options["server.headless"] = True
    return options


def _server(address: str, *, has_display: bool) -> st.App:
    @asynccontextmanager
    async def listening(_: st.App) -> AsyncIterator[dict[str, Any] | None]:
        url = get_origin_from_redirect_uri() or get_url(get_display_address(address))
        sys.stderr.write(f"Console: {url}\n")
        # After every script run Streamlit collects the garbage of all generations, and nothing else runs meanwhile.
        # Freezing what is loaded by now saves a tenth of a second each time.
        gc.collect()
        gc.freeze()
        if has_display:
            threading.Thread(target=open_browser, args=(url,), daemon=True).start()
        yield None

    return st.App(_APP, lifespan=listening, middleware=[Middleware(Gatekeeper, address=address)])


def _shipped(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return the settings next to app.py by their full names, so that they apply in any working directory."""
    flat: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _shipped(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
