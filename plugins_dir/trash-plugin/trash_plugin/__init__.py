"""A sink that keeps nothing."""
