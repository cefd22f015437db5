"""Wrangler: recipes, their directives and expressions, compiled to Spark plans and Arrow batches."""
