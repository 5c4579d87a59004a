from offsetwise.console import answers
from offsetwise.console.explore import overview
from offsetwise.console.server import guard

with guard.page("Offsetwise") as head:
    head.says("Where must each partition resume on the new Kafka cluster, and how do we know?")
    overview.draw(answers.current())
