"""Transforms by scripts, in JavaScript and in Python."""
