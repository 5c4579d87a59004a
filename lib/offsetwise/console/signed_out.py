"""The sign-ins that people have ended: Streamlit's cookie of such a one stays good, so it is remembered here."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

_OF_A_SIGN_IN: Final = ("iss", "sub", "iat", "nonce")
"""Claims of the ID token that together are never those of another sign-in."""


class SignedOut:
    """Ended sign-ins, each for as long as its cookie could be used. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until_s: dict[tuple[str, ...], float] = {}

    def add(self, claims: Mapping[str, Any], *, for_s: float) -> None:
        """End the sign-in that these claims are of."""
        now_s = time.monotonic()
        with self._lock:
            self._until_s = {one: until_s for one, until_s in self._until_s.items() if now_s < until_s}
            self._until_s[_sign_in(claims)] = now_s + for_s

    def __contains__(self, claims: Mapping[str, Any]) -> bool:
        """Say whether the sign-in that these claims are of was ended."""
        with self._lock:
            return _sign_in(claims) in self._until_s


def _sign_in(claims: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(repr(claims.get(name)) for name in _OF_A_SIGN_IN)
