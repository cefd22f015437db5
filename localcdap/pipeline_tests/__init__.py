"""Golden tests of pipelines: given records in, expected records out, in files that people review."""
