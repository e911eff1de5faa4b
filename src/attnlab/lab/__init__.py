"""The laboratory: experiments, results, claims and their pages."""
