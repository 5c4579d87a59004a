"""The exit codes of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

EXIT_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {0: "done or equal", 1: "error", 2: "differences, only with --detailed-exitcode"}
)
