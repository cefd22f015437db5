"""Transforms that parse XML documents or convert them to JSON."""
