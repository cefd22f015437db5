"""The action StateRestore."""
