"""The log of a run: live, filtered, searched, whatever its length and whatever is in it."""
