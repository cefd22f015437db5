"""JSON read and written."""
