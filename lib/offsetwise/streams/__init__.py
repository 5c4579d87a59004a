"""What a position points into. A new stream is one folder of `plugins`, registered in `builtin`.

A folder has two modules. `spec` says what the stream is and is pure: everything may go by it. `reader` reads its
clusters, and is loaded where one is read.
"""
