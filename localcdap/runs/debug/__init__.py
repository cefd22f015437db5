"""One stage of a pipeline tried on given records."""
