"""Spark clusters of others: their addresses, what is shipped to them, their file systems."""
