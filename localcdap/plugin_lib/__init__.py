"""The library of the shipped plugins: JEXL, files, Spark columns, recipes, web requests, argument documents.

No package of the core imports it, so that a plugin can replace any part of it.
"""
