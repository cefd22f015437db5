"""What shipped plugins build on; no package of the core imports it."""
