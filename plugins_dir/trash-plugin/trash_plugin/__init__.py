"""The Trash sink."""
