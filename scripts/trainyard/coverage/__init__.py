"""Which branches of a chart's templates its cases take.

A branch is one way through an ``if``, ``range`` or ``with``: taken or else, also where no else is
written. Conditions inside a pipeline (``and``, ``default``, ``ternary``) are no branches, nor is
what ``tpl`` evaluates, for that text is a value.

What decides a branch is in the case: a case that names no Kubernetes version is rendered for the
one that Helm itself was built for, and ``.Capabilities.APIVersions.Has`` is true only for the
APIs of that Helm and for those that the case adds. So a branch over a version or an API needs a
case on either side, and a custom resource's needs one with ``api_versions``.

A dependency is counted by itself, over all charts that are measured together: what a library has
for another chart is no gap of this one.
"""
