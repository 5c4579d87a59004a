"""Ends transactions as their coordinators know them, by EndTxn."""

from __future__ import annotations

from offsetwise.targets.transactions.verification import verify
from offsetwise.targets.transactions.writer import writer

__all__ = ["verify", "writer"]
