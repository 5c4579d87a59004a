"""Streams: the systems that positions point into. A new stream is one folder of `plugins`, registered in `builtin`.

A folder has two modules. `spec` describes the stream and is pure: every stage may use it. `reader` reads its clusters,
and is loaded only for that.
"""
