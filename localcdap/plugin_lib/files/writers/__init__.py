"""The formats that Spark does not write as records need it."""
