"""Good and bad heads in the network of the text: an LSTM whose heads' contexts are summed."""
