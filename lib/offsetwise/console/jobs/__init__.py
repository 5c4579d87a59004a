"""The jobs of a migration as a whole: what Overview, Compare, Draft and Review show above a single job."""
