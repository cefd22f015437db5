"""The home screen: what is here, and what can be done."""
