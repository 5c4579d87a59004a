from offsetwise.console import help
from offsetwise.console.server import guard

with guard.page("Help") as head:
    head.says("What this is, its words, its findings, and what it needs.")
    help.draw()
