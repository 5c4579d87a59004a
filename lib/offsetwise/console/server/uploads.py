"""Which sessions may upload files: those that a page offered it to, a few files each, until they end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

MOST_FILES: Final = 4
"""Files of one session at a time; the Export page has an upload for each of three kinds of files."""


class Uploads:
    """The sessions that were offered an upload, and their uploaded files. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, set[str]] = {}

    def offer(self, session: str) -> None:
        with self._lock:
            self._files.setdefault(session, set())

    def takes(self, session: str, file: str) -> bool:
        """Return whether a file of a session is accepted, and count it if so."""
        with self._lock:
            files = self._files.get(session)
            if files is None or len(files | {file}) > MOST_FILES:
                return False
            files.add(file)
            return True

    def removed(self, session: str, file: str) -> None:
        with self._lock:
            self._files.get(session, set()).discard(file)

    def forget_inactive(self, active: Callable[[str], bool]) -> list[str]:
        with self._lock:
            expired = [session for session in self._files if not active(session)]
            for session in expired:
                del self._files[session]
            return expired


offered: Final = Uploads()
"""Uploads of this process."""
