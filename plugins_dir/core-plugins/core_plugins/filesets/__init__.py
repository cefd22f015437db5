"""File sets and streams of CDAP 3 to 5."""
