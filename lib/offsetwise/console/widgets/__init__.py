"""What screens share: blocks, tables, charts, evidence, selections, downloads."""
