"""How Java formats, parses and matches values, as properties, recipes and expressions of CDAP expect it.

The core and the plugins use it; it imports no other package of localcdap. Its other modules build on
:mod:`.strings` and :mod:`.numbers`.
"""
