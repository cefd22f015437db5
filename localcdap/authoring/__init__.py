"""Scaffolds new artifacts for plugin authors from the templates of this package."""
