"""The attacks that were tried on the product: one test per row of the table in `docs/gates.md`."""
