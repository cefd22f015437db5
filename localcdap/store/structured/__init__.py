"""Structured tables: what system applications keep in the instance's database.

:class:`~localcdap.store.structured.tables.StructuredTables` is the way in.
"""
