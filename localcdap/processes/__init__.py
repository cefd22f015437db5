"""Child processes: their start, identity, limits, descendants and end.

It imports ``api``, ``java``, ``text`` and ``decoders`` of localcdap, so that every other package may use it.
"""
