"""The jobs that were stopped, and a migration of one checkpoint, as the end-to-end proof has them."""

from __future__ import annotations

from tests.integration.conftest import moving, scene

__all__ = ["moving", "scene"]
