"""The state of each job of a migration, from evidence alone. Pure: nothing here reads a clock, file or cluster."""
