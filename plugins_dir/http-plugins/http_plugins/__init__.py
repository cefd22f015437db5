"""The HTTPCallback post action."""
