from offsetwise.console import desk, guard
from offsetwise.console.clusters import screen

with guard.page("Clusters") as head:
    here = desk.current()
    screen.draw(here, screen.migration_of(here), head)
