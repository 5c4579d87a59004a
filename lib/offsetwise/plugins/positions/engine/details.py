"""What is said of a positions file beside its positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from offsetwise.model import Details


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsDetails(Details):
    """A file keeps nothing but positions."""

    begins_by_setting: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        """What people call it."""
        return "positions file"
