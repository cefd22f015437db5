"""Alert publishers for one machine; they have no counterpart in CDAP."""
