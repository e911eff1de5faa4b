"""Models: one file a network or a part of one, in plain PyTorch. They know nothing of tasks or training.

``recurrent`` (LSTM and GRU, fast on CPU), ``attention`` (one head or K), ``readout``, ``seq2seq`` (P3 2.1 with its
lexical probe), ``topic`` (P1 3: one query, bags of words), ``proxy`` (P3 2.3: bags of words to bags of words),
``initial`` (starting values from generators of our own).
"""
