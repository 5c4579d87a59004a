from offsetwise.console import guard
from offsetwise.console.reviewing import screen

with guard.page("Review") as head:
    screen.show(head)
