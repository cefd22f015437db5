"""How Java writes, reads and matches values: what recipes and expressions of the original rely on."""
