"""The home area."""
