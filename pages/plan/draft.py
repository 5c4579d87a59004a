from offsetwise.console import guard
from offsetwise.console.drafting import screen

with guard.page("Draft") as head:
    screen.show(head)
