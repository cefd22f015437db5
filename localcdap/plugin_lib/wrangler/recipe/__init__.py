"""Recipes: built by :func:`~.builder.load_recipe`, propagated, compiled to Spark, run in batches."""
