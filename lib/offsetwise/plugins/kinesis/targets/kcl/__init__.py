"""What targets of the KCL's applications share."""
