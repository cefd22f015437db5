"""Transforms and splitters that parse fields and route records."""
