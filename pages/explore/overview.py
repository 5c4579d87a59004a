from offsetwise.console import desk, guard, overview

with guard.page("Offsetwise") as head:
    head.says("Where must each partition resume on the new Kafka cluster, and how do we know?")
    overview.draw(desk.current())
