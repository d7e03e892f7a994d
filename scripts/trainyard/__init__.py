"""Trainyard's harness: it builds the tools, runs a cluster, and proves the charts on it."""
