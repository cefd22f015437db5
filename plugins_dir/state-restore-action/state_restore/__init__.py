"""The StateRestore action."""
