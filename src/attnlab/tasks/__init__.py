"""Tasks: where examples come from, one file a family. They know nothing of models or training.

Here so far: ``copying`` (P3 3.3, 6.2), and ``batch``, the record every task of sequence pairs hands out.
"""
