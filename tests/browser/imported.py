"""Imports what a console and its pages import."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import streamlit.web.bootstrap  # noqa: F401 - imported for who is forked

from offsetwise import console
from tests.browser import reviews, scenarios  # noqa: F401 - as above

for _module in walk_packages(console.__path__, f"{console.__name__}."):
    import_module(_module.name)
