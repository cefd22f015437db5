"""Files that properties of stages name: listed, and looked into for their format."""
