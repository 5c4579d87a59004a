"""The review of plans: one person drafts, another decides, and the decision is exported as evidence.

`board.Board` has the operations, `answers` their results, and `access` the roles. The console's screens call nothing
else.
"""
