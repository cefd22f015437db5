"""A stage tried on records, and what a preview gives for it: the last two tabs of the inspector."""
