"""The Joiner."""
