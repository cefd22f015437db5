"""Structured tables: typed tables with a primary key, in which system applications store their data.

:class:`~localcdap.store.structured.admin.StructuredTables` is the entry point: its ``admin`` creates
tables, its ``transactions`` run functions as transactions on them (CDAP 6 ``StructuredTable``).
"""
