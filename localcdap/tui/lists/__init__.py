"""Lists of things under headings, filtered by typing."""
