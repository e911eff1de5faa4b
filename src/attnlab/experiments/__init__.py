"""Experiments: the only place that knows both training and what is read out of it.

``experiment`` (what one is), ``registry`` (all of them by name), ``conduct`` (plan, train, analyse, write), ``result``
(result folders), ``claims`` and ``claims.toml`` (what the papers say and how it is decided), ``statistics``; then one
file an experiment, and ``topics`` and ``treebank``, what those on topic words share.
"""
