"""Plans: drafted from a comparison, judged, predicted and exported."""
