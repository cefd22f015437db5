"""Recipes: their checking, their schemas, their compilation and execution."""
