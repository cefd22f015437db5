"""The data area."""
