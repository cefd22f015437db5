"""Helpers for DataFrames: columns by exact name, DDL of schemas, conversions, checks that fail the run."""
