from offsetwise.console.plan import draft
from offsetwise.console.server import guard

with guard.page("Draft") as head:
    draft.show(head)
