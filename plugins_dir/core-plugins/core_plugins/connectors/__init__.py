"""Connectors: files, database files, the tables of the instance, pasted text."""
