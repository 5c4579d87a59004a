from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from offsetwise.errors import NotApprovedError, OffsetwiseError, StalePlanError

EXIT_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        0: "done or equal",
        1: "error",
        2: "differences, only with --detailed-exitcode",
        3: "stale: what the plan was made from has changed",
        4: "not approved",
        5: "verification failed",
    }
)


def exit_code(error: OffsetwiseError) -> int:
    """Return the exit code of an error.

    >>> exit_code(NotApprovedError("Nobody signed.", fix="Sign it."))
    4
    """
    match error:
        case StalePlanError():
            return 3
        case NotApprovedError():
            return 4
        case _:
            return 1
