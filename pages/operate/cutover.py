from offsetwise.console import answers
from offsetwise.console.operate.cutover import screen
from offsetwise.console.server import guard
from offsetwise.console.widgets import selectors

with guard.page("Cutover") as head:
    here = answers.current()
    screen.draw(here, selectors.migration(here, head.choices, spark=False), head)
