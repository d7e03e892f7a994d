"""Clusters to run charts on: one interface, three providers."""
