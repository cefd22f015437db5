"""A stage tried on records, and what previews give for it."""
