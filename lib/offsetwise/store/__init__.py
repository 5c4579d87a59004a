"""The store of data that is kept between runs: SQLite in a private folder, or PostgreSQL by URL."""
