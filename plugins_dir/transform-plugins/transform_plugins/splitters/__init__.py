"""Splitters that route records to ports by the value of a field."""
