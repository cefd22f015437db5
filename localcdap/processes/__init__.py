"""Child processes: their start, identity, limits, descendants and end; fork servers; single instances.

It imports ``api``, ``java``, ``text`` and ``decoders`` of localcdap, so that every other package may use it.
No other package forks, signals or watches a process. Importing a module of it starts no thread.
"""
