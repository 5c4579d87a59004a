"""Everything that writes to the world: one writer per kind of target, a journal, and one narrow seam to the disk."""
