"""Files of the package: the console's app and documents, and sample migrations recorded from real clusters."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files as package_files
from pathlib import Path

from offsetwise.errors import FileError


class Bundled(StrEnum):
    SPARK = "sample"
    FLINK = "sample_flink"
    KINESIS = "sample_kinesis"

    def file(self, name: str) -> Path:
        return Path(str(package_files("offsetwise") / self.value / name))


def damaged(problem: str) -> FileError:
    return FileError(problem, fix="Install Offsetwise again: pip install --force-reinstall --no-deps offsetwise.")


def bundled_path(name: str) -> Path:
    """Return a file or folder that is next to `lib/` in a checkout, and inside the package in a wheel."""
    package = Path(str(package_files("offsetwise")))
    installed = package / "beside"
    return (installed if installed.is_dir() else package.parents[1]) / name
