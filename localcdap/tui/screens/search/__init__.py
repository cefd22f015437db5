"""The search area: finds everything of a namespace while its user types."""
