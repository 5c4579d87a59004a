"""The file in a copy of a savepoint on an object store while it is made or undone."""

from __future__ import annotations

from typing import Final

from offsetwise.apply.written import Guard

GUARD_FILE: Final = ".offsetwise-guard"
GUARD: Final = Guard(path=lambda _: GUARD_FILE, matches=GUARD_FILE.__eq__)
