"""Pipelines and stages tried on few records: previews, cases of tests, debugging of one stage."""
