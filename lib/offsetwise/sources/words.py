"""Words that several readers say."""

from __future__ import annotations


def more_partitions(count: int) -> str:
    """Give `and 2 more partitions`, and of one `and 1 more partition`."""
    return f"and {count:,} more partition" + "s" * (count > 1)
