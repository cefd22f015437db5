"""The settings area."""
