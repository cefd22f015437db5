"""What authors of dataset types import."""
