"""Plans of a repaired copy of a checkpoint: the parameters of each kind of repair, and the plan without clusters."""
