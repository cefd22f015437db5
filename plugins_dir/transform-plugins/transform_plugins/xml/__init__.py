"""XML documents read, and made into JSON."""
