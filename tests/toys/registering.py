"""Registers the toys, as `offsetwise.builtin` does what the product brings."""

from __future__ import annotations

import pytest

from offsetwise.registry import READERS, STREAMS, TARGETS, WRITERS
from tests.toys.stream import reader
from tests.toys.stream.spec import NAME, SPEC
from tests.toys.target import writer
from tests.toys.target.spec import TYPE


def register_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy target and its writer."""
    monkeypatch.setitem(TARGETS, TYPE.name, lambda: TYPE)
    monkeypatch.setitem(WRITERS, TYPE.name, lambda: writer)


def register_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy stream and its reader."""
    monkeypatch.setitem(STREAMS, NAME, lambda: SPEC)
    monkeypatch.setitem(READERS, NAME, lambda: reader)
