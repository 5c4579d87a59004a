from offsetwise.console import answers
from offsetwise.console.explore.clusters import screen
from offsetwise.console.server import guard
from offsetwise.console.widgets import selectors

with guard.page("Clusters") as head:
    here = answers.current()
    screen.draw(here, selectors.migration(here, head.choices), head)
