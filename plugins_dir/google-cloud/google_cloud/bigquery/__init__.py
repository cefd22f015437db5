"""Plugins of BigQuery: tables of the instance stand for its tables, DuckDB and Spark run its SQL."""
