"""Alert publishers."""
