"""Macros in the values of properties: their language, their functions, and what must not be shown."""
