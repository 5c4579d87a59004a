"""What walks share with other tests."""

from __future__ import annotations

from tests.store.conftest import server

__all__ = ["server"]
