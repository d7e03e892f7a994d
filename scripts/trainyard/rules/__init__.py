"""Rules about rendered objects that API schemas do not know."""
