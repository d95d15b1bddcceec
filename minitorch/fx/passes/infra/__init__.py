"""Passes that divide a graph by what a backend can do."""
