"""The transform DateTransform."""
