from offsetwise.console.plan import review
from offsetwise.console.server import guard

with guard.page("Review") as head:
    review.show(head)
