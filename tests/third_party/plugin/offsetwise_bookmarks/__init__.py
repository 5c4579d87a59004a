"""A plug-in for Offsetwise: bookmarks kept by a service, and jobs that keep their positions in a text file."""
