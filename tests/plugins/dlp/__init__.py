"""Data about persons."""
