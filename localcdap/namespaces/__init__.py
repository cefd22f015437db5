"""Namespaces, and what belongs to them whatever runs there: preferences and secure keys."""
