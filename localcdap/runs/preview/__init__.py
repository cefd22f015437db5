"""Pipelines run on their first records, and the records of each stage shown."""
