"""What two addresses and roots of checkpoints tell of a migration, and the migration file that says it."""
