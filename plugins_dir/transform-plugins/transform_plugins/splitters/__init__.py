"""Splitters: records go separate ways by the value of a field."""
