"""The ArgumentSetter action."""
