"""Pages are opened as the tests of all screens open them."""

from __future__ import annotations

from tests.console.conftest import (
    _no_store_of_anybody,
    _nothing_unsent,
    _packages_stay,
    _spark_stays,
    asked_for,
    empty_reviews,
    open_page,
)

__all__ = [
    "_no_store_of_anybody",
    "_nothing_unsent",
    "_packages_stay",
    "_spark_stays",
    "asked_for",
    "empty_reviews",
    "open_page",
]
