"""Survey a migration from two addresses and checkpoint roots, and write its migration file."""
