from offsetwise.console import choosing, desk, guard
from offsetwise.console.clusters import screen

with guard.page("Clusters") as head:
    here = desk.current()
    screen.draw(here, choosing.migration(here), head)
