"""Schemas of the Kubernetes API, offline, and of custom resources from their definitions."""
