"""The Joiner, and the definition of a join."""
