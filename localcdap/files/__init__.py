"""Files without Spark: reading their rows, guessing their formats and types, and replacing them atomically.

It imports ``api``, ``java``, ``text`` and ``decoders`` of localcdap, so that every other package may use it.
"""
