"""The library area."""
