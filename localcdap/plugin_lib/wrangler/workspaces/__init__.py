"""Recipes on the samples of workspaces: what the methods of Data Prep answer."""
