"""Sources and sinks of the namespace's tables."""
