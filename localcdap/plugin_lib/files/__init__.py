"""Files as sources and sinks read and write them, for every plugin that has files underneath."""
