"""Structs as MessagePack and JSON, and columns of record values as Arrow columns.

For localcdap itself: authors of plugins use :mod:`localcdap.api.arrow` and :mod:`localcdap.api.record_json`.
"""
