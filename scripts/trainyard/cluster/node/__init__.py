"""The embedded node: upstream Kubernetes on one Linux machine, in namespaces of its own."""
