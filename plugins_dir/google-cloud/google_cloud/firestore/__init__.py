"""Collections of Firestore: key-value tables of the instance, whose values are documents in JSON."""
