"""The runs area."""
