"""The studio area."""
