"""Sources and sinks of the file sets and streams of CDAP 3 to 5."""
