"""Experiments: the only place that knows both training and what is read out of it.

Here: ``experiment`` (what one is), ``registry`` (all of them by name), ``conduct`` (plan, train, analyse, write),
``result`` (result folders), ``claims`` and ``claims.toml`` (what the papers say and how it is decided), ``statistics``,
``ranks``, ``stopping``. Then one file an experiment, with others beside it where it is long, in a folder for each of
four families: ``laboratory`` (copying and keywords), ``texts``, ``topics``, ``theory``.
"""
