"""The Cutover screen: how far each job of a wave has come, for the hour in which it moves."""
