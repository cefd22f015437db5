"""Plugins of the CDAP Hub that are artifacts of their own."""
