"""The process of a run, from its order to its end."""
