"""The Conditional condition."""
