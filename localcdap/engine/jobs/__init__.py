"""Jobs of system applications in their process."""
