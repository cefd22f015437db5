"""Plugin directories: what lies in them, the watch on them, and bringing the index up to date."""
