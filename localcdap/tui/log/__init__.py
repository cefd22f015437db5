"""The log of a run: a live view of any length, with filters and search."""
