"""All that is wrong with a pipeline, in one list."""
