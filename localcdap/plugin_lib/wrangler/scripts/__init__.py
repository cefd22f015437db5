"""Recipes as programs of Spark: SQL and PySpark."""
