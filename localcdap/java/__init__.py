"""Formats, parses and matches values as Java does, which properties, recipes and expressions of CDAP expect.

The core and the plugins use it; it imports no other package of localcdap. Its other modules build on
:mod:`.strings` and :mod:`.numbers`.
"""
