"""The store: what is kept between runs. SQLite in a folder of one's own, or PostgreSQL by URL."""
