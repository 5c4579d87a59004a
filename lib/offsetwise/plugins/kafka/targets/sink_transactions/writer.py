"""Ends transactions known to their coordinators, by EndTxn."""

from __future__ import annotations

from offsetwise.plugins.kafka.targets.transactions.verification import verify
from offsetwise.plugins.kafka.targets.transactions.writer import writer

__all__ = ["verify", "writer"]
