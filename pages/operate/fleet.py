from offsetwise.console import answers
from offsetwise.console.operate import fleet
from offsetwise.console.server import guard
from offsetwise.console.widgets import selectors

with guard.page("Fleet") as head:
    here = answers.current()
    migration = selectors.migration(here, head.choices)
    if held := fleet.fleet(here, migration, head):
        fleet.draw(held, migration)
