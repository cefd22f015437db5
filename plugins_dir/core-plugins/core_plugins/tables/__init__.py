"""Tables of the instance: sources and sinks."""
