from offsetwise.console.operate import audit
from offsetwise.console.server import guard

with guard.page("Audit") as head:
    audit.show(head)
