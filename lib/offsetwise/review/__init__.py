"""The review of plans: drafted by one person, decided by another, exported with the evidence that it was so.

`board.Board` has the verbs; `answers` what they answer; `access` the roles. The console's screens call nothing else.
"""
