"""Tasks: where examples come from, one file a family. They know nothing of models or training.

``copying`` (P3 3.3, 6.2), ``topics`` (P1 3), ``sst`` (the treebank as P1 reads it), ``labelled_file`` (texts and labels
of one's own), ``sentence_pairs`` (parallel corpora) with ``reading`` and ``conventions``, and ``batch``, the records
that tasks hand out.
"""
