"""Analysis of plans: graph, validation, query groups, guarantees, resumable parts, fingerprint."""
