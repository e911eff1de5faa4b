"""Tasks: where examples come from, one file a family. They know nothing of models or training.

``copying`` (P3 3.3, 6.2), ``keyword`` (P3 6.1), ``topics`` (P1 3), ``sst`` (the treebank as P1 reads it),
``labelled_text`` (the corpora of P3 and files of one's own, with ``corpora``, ``own_file``, ``tokens``,
``vocabulary``, ``vectors``, ``sizes`` and ``cache``), ``sentence_pairs`` (parallel corpora, with ``conventions``),
``labelled_file`` and ``reading`` (files as they come), and ``batch``, the records that tasks hand out.
"""
