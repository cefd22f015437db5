"""Datasets: their specifications, the definitions of their types, and the built-in types."""
