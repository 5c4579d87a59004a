"""What applying, taking back and verifying read and write the world with."""

from __future__ import annotations

from offsetwise.apply.run import Tools
from offsetwise.apply.world import LiveWorld
from offsetwise.apply.writers import Writers
from offsetwise.config import Migration
from offsetwise.progress import Progress
from offsetwise.verify import LiveEyes

__all__ = ["LiveEyes", "tools_for"]


def tools_for(migration: Migration, progress: Progress) -> Tools:
    """Give what reads and writes the world of a migration."""
    return Tools(world=LiveWorld(migration=migration, progress=progress), writers=Writers(migration))
