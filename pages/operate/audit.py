from offsetwise.console import guard
from offsetwise.console.audit import screen

with guard.page("Audit") as head:
    screen.show(head)
