"""Models: one file a network or a part of one, in plain PyTorch. They know nothing of training, and of tasks
no more than the texts that these hand over.

``recurrent`` (LSTM and GRU, fast on CPU), ``attention`` (one head or K), ``readout``, ``seq2seq`` (P3 2.1 with its
lexical probe), ``classifier`` (P3 2.4), ``topic`` (P1 3: one query, bags of words), ``proxy`` (P3 2.3: bags of words to
bags of words, or to a class), ``logistic`` and ``fitted_proxy`` (P3 A.10: the same fitted to the end), ``initial``
(starting values from generators of our own).
"""
