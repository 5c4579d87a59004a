"""Ends transactions that no coordinator knows, by abort markers to the leaders of their partitions."""

from __future__ import annotations

from offsetwise.targets.transactions.verification import verify
from offsetwise.targets.transactions.writer import writer

__all__ = ["verify", "writer"]
