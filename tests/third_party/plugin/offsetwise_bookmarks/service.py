"""The service that keeps bookmarks: one JSON object for each shelf, `{"topic:partition": offset}`."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from urllib.parse import quote

from offsetwise.errors import ApplyError

_SECONDS = 10


def read(url: str, shelf: str) -> dict[str, int]:
    """Return the bookmarks of a shelf; none where there is no such shelf.

    Raises:
        ApplyError: The service does not answer.
    """
    try:
        with urllib.request.urlopen(_at(url, shelf), timeout=_SECONDS) as reply:
            return {str(key): int(value) for key, value in json.load(reply).items()}
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return {}
        raise _silent(url, shelf, error) from error
    except (OSError, ValueError) as error:
        raise _silent(url, shelf, error) from error


def write(url: str, shelf: str, bookmarks: Mapping[str, int] | None) -> None:
    """Put the bookmarks of a shelf, or remove the shelf where there are none.

    Raises:
        ApplyError: The service does not answer, or refuses; what is there now must be read again.
    """
    data = None if bookmarks is None else json.dumps(bookmarks).encode()
    request = urllib.request.Request(_at(url, shelf), data=data, method="DELETE" if data is None else "PUT")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS):
            return
    except OSError as error:
        raise _silent(url, shelf, error) from error


def _at(url: str, shelf: str) -> str:
    return f"{url.rstrip('/')}/{quote(shelf, safe='')}"


def _silent(url: str, shelf: str, error: Exception) -> ApplyError:
    return ApplyError(
        f"Shelf {shelf!r} at {url}: expected its bookmarks, found {str(error)[:200]}. Nothing is known of it.",
        fix="Start the service, then run the same command again.",
    )
