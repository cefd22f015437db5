"""Fields encrypted with the keys of Java keystores."""
