"""The directives, one module for each family; every module here is looked through for them."""
