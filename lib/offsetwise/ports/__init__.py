"""What the product asks of systems that it does not know."""
