"""The jobs of a migration as a whole: what Overview, Compare, Draft and Review say before they speak of one job."""
