"""The prep area: a sample of data, and a recipe whose effect shows at once."""
