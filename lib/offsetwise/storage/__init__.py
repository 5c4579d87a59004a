"""Folders of files on every kind of file system, read without writing."""
