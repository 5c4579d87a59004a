"""A set of plans on Review: all positions of all plans in one table, and one decision about exactly these plans."""
