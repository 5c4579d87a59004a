"""Write plans: one writer for each kind of target, a journal, and a single interface to the local disk."""
