from offsetwise.console.plan import export
from offsetwise.console.server import guard

with guard.page("Export") as head:
    export.show(head)
