"""How Java writes, reads and matches values: properties, recipes and expressions rely on it."""
