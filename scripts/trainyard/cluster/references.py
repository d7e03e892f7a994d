"""Names of images as container runtimes know them."""

DEFAULT_REGISTRY = "docker.io"
DEFAULT_NAMESPACE = "library"


def whole(reference: str) -> str:
    """Give the whole name of an image: with registry, namespace and tag, as containerd keeps it.

    ``me/train`` is ``docker.io/me/train:latest``. The first part is a registry when it has a dot
    or a port, or is ``localhost`` (the rule of github.com/distribution/reference).
    """
    first, slash, rest = reference.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        first, rest = DEFAULT_REGISTRY, reference
        if "/" not in rest:
            rest = f"{DEFAULT_NAMESPACE}/{rest}"
    tagged = ":" in rest.rpartition("/")[2] or "@" in rest
    return f"{first}/{rest}" if tagged else f"{first}/{rest}:latest"
