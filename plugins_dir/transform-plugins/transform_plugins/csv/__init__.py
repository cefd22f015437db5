"""Lines of CSV read and written."""
