"""Every remedy is true: each `fix` and `remedy` of the product is followed literally, and ends somewhere better."""
