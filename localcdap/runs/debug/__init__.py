"""Stage debugging: one stage of a pipeline runs on given records."""
