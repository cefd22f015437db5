"""Pipeline documents: reading, structure, macros, schema propagation, validation. Knows no Spark."""
