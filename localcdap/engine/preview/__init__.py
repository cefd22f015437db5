"""Pipelines and single stages tried on few records: previews, debugging, golden tests."""
