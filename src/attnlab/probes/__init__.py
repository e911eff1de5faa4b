"""Probes: what is read out of a model's parts at a position, beside its own attention.

``view``: how to read a model, ours or anybody's. ``texts``: attention and lexical probe of many texts. ``influence``:
the derivative to a gate on each word (P3 5.1). ``leave_one_out``: the text without each word.
``integrated_gradients``: through captum. ``reading``: what these share. ``optimal_attention``: the attention that
minimises the loss for given logits (P3 A.1). ``mean_state``: how far a text's mean hidden state is linear in its mean
embedding (blog).
"""
