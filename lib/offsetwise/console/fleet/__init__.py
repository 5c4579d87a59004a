"""The Fleet screen: many checkpoints at once, those that need a look first."""
