"""The plugins area."""
