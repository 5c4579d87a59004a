"""Fixtures of tests about transactions."""

from tests.apply.conftest import quick_path

__all__ = ["quick_path"]
