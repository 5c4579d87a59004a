"""Ends hanging transactions, which no coordinator knows, by abort markers to the leaders of their partitions."""

from __future__ import annotations

from offsetwise.plugins.kafka.targets.transactions.verification import verify
from offsetwise.plugins.kafka.targets.transactions.writer import writer

__all__ = ["verify", "writer"]
