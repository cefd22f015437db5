"""Runs: started, watched, stopped and remembered by the host; executed by processes of their own."""
