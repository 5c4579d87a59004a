"""Starts the console: Streamlit on the loopback interface, over the migrations named on the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import bootstrap

from offsetwise.console import desk
from offsetwise.errors import ConfigError

_APP: Final = Path(__file__).resolve().parents[3] / "app.py"


def launch(migrations: Sequence[Path] = (), port: int | None = None, *, reader: desk.Reader | None = None) -> None:
    """Serve the console until it is interrupted.

    The files are read before the server starts, so that a mistake in one is said in the terminal. The browser
    never names a file: it picks a migration by name.

    Args:
        migrations: Migration files; without any, only the bundled sample is offered.
        port: TCP port on 127.0.0.1; the first free one from 8501 on unless told.
        reader: Where data comes from instead, for demonstrations and tests.

    Raises:
        ConfigError: A migration file cannot be used, or the console's pages are not installed.
    """
    if not _APP.is_file():
        raise ConfigError(
            f"The console's pages were expected at {_APP}, and are not there. The console cannot start.",
            fix="Start it from a checkout of Offsetwise, installed with `pip install --editable .`.",
        )
    os.environ[desk.MIGRATIONS_VARIABLE] = os.pathsep.join(str(path.resolve()) for path in migrations)
    if reader is None:
        desk.current()
    else:
        desk.use(reader)
    # A folder called `pages` beside app.py makes Streamlit expect its old kind of multipage app until the first
    # page has run: the first deep link of a fresh server then shows "Page not found" over the right page.
    PagesManager.uses_pages_directory = False
    options: dict[str, object] = {
        "server_address": "127.0.0.1",
        "server_headless": True,
        "server_fileWatcherType": "none",
        "global_developmentMode": False,
    }
    if port is not None:
        options["server_port"] = port
    bootstrap.load_config_options(flag_options=options)
    bootstrap.run(str(_APP), is_hello=False, args=[], flag_options=options)
