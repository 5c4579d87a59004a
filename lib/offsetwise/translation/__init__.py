"""Rules that translate one position: pure, one per file."""
