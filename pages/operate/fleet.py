from offsetwise.console import choosing, desk, guard
from offsetwise.console.fleet import screen

with guard.page("Fleet") as head:
    here = desk.current()
    migration = choosing.migration(here)
    if held := screen.fleet(here, migration, head):
        screen.draw(held, migration.name)
