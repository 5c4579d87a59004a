from offsetwise.console import guard
from offsetwise.console.help import screen

with guard.page("Help") as head:
    head.says("What this is, its words, its findings, and what it needs.")
    screen.draw()
