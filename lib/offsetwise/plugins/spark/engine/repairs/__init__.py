"""Repairs of a Spark checkpoint, decided file by file before anything is written.

A repair is a set of files with other bytes and a set of files that are left out of a copy. Each kind has one function,
which refuses a checkpoint that it does not fit.
"""
