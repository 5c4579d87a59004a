"""Plans of a repaired copy of a checkpoint: what each kind of repair takes, and the plan that asks no cluster."""
