"""What stands around a plan while somebody decides: the bar, what came of a button, and the next step."""
