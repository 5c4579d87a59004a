"""How far each job of a migration has come, from evidence alone. Pure: nothing here reads a clock, file or cluster."""
