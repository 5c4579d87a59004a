"""The screens of the console as its folder of pages has them, so that a new one is in every test of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
EXPLORE: Final = tuple(sorted(path.stem for path in (ROOT / "pages" / "explore").glob("*.py")))
"""Those that show what was read."""
OF_ONE_MIGRATION: Final = tuple(name for name in EXPLORE if name != "overview")
"""Those of them that show one migration, or one of its jobs."""
