"""Keys: what they do here and now, their names, those of the user, the parts that they jump to."""
