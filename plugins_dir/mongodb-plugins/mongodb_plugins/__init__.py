"""Collections of MongoDB: key-value tables of the instance, whose values are documents in JSON."""
