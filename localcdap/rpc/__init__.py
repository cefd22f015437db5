"""Calls between processes: frames, callers and answerers, the host's socket, and who is the host."""
