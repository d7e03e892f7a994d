"""Values: read strictly, judged by the schema, compared with the templates, and fuzzed."""
