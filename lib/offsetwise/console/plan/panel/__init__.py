"""The frame of a plan during a decision: the bar, the result of a button, and the next step."""
