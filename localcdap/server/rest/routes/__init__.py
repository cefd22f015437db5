"""The routes by area. Each module has a table ``ROUTES``; its functions are in the order of the paths."""
