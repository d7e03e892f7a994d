"""Render charts: one interface, two renderers, typed results."""
