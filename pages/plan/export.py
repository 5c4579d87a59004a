from offsetwise.console import guard
from offsetwise.console.exporting import screen

with guard.page("Export") as head:
    screen.show(head)
