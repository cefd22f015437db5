"""The reports screen: what ran in a window of time, how long it took, and why it failed."""
