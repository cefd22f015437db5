"""Transforms that parse, format and convert fields, and splitters."""
