"""The sample migrations that come with the package, each recorded from two real clusters and a real job."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files as package_files
from pathlib import Path


class Bundled(StrEnum):
    """A bundled sample migration, by its folder in the package."""

    SPARK = "sample"
    FLINK = "sample_flink"

    def file(self, name: str) -> Path:
        """Give one of its files."""
        return Path(str(package_files("offsetwise") / self.value / name))
